"""What tests share: data, references, drivers."""

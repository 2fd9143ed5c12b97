"""What is measured: one file per stage of a run."""

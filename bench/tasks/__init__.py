"""The measurements: one file per stage of a run."""

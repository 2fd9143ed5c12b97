"""How each library is asked for the same thing: one file per task, one object per library."""

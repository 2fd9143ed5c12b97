"""The loop, the steps it takes, and restarts."""

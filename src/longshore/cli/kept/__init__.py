"""Throw-away runs after their end: records and logs in `runs/` of the data directory, for some days."""

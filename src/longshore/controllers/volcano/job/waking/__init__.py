"""Which Volcano Job is looked at, and what it is asked: requests, delays, what a crash left undone."""

"""Keys that wait to be looked at, the workers that take them, and how long to wait after a failure."""

"""Checks of `longshore doctor`: of this machine, and of the data directory. Each returns one finding."""

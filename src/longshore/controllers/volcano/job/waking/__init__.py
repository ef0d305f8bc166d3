"""Decides which Volcano Job is visited, and why: requests, delayed actions, recovery after a crash."""

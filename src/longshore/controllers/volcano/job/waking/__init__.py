"""Decides which Volcano Job is synced, and why: requests, delayed actions, recovery after a crash."""

"""Deletes objects some time after they ended: one loop, and a dialect for each kind. No controller."""

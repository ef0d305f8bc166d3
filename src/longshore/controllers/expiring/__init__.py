"""Deletes objects some time after they ended: one loop for two controllers, and a dialect for each kind."""

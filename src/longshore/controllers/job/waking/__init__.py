"""Decides which Job is synced, and when: handlers, selector indexes, batches of failures, orphans."""

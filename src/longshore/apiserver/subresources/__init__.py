"""Paths below an object that are more than a part of it: binding, eviction, log, exec, token."""

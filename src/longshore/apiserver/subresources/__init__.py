"""Subresources that do more than show a part of an object: binding, eviction, log, exec, token."""

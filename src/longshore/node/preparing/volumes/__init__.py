"""Volumes of a pod on disk, one file a kind, and where containers see them."""

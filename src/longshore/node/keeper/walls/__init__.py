"""Walls around a container: file tree, namespaces, users, and limits by cgroups or by sampling."""

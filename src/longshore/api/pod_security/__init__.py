"""Kubernetes' Pod Security Standards: what a pod may not ask for, by level and version, in its words."""

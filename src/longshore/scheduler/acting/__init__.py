"""Carries out what schedulers decide: bindings, claims, evictions, and what a waiting pod is told."""

"""Carries out what schedulers decide: bindings, claims, evictions, and reports to waiting pods."""

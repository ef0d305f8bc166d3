"""Admission in its order: namespace open, limits and pod defaults set, quota charged."""

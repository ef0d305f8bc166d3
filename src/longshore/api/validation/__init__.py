"""Validation of objects: each problem is a field error. One file per kind; no check changes its object."""

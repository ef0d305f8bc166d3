"""Admission plugins: what changes or refuses a request after decoding and before validation."""

"""Volcano's admission for other clusters: webhooks with longshore's own rules, and their certificates."""

from __future__ import annotations


class CannotServe(Exception):
    """longshore cannot listen on the port of the webhooks. Choose another with --webhooks."""

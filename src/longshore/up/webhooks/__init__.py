"""Volcano's admission for other clusters: webhooks with longshore's own rules, and their certificates."""

from __future__ import annotations


class CannotServe(Exception):
    """The port of webhooks is not to be had. Choose another with --webhooks."""

"""The error of a part that cannot run now because something outside of longshore is missing."""

from __future__ import annotations


class Unavailable(Exception):
    """A resource that this part needs is missing. The text is a sentence for people, and says what helps."""

"""The error of a part that cannot run now because something outside of longshore is missing."""

from __future__ import annotations


class Unavailable(Exception):
    """Something that this part needs is not there. Its text is a sentence for people, and says what helps."""

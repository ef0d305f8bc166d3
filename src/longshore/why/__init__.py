"""Tells the story of an object: what happened to it, by which rule, with which numbers, and what is next.

A story is a pure function of a view: `tell(view)`. The view holds the object as it is now, its recorded
reasons (`machinery/records.py`), its events, and the objects that belong to it. `observe` makes a view from
any API, so that clusters that record no reasons have stories, too.
"""

"""Tells the story of an object: what happened to it, by which rule, with which numbers, and what is next.

A story is a pure function of a view: `tell(view)`. The view holds the object as it is now, the reasons that
were kept (`machinery/records.py`), its events, and the objects that belong to it. `observe` makes one from
any API, so that a story can be told of a cluster that keeps no reasons, too.
"""

"""The toolkit of controllers: caches that follow the server, queues, expectations, events, election.

A toolkit that stands by itself: it knows a client (`longshore.client`) and the shapes of objects, and
nothing of any controller. docs/how-to/toolkit.md is its tour, examples/toolkit/ a whole controller on it.
Everything lives on one event loop; time and dice are handed in (`clock.Clock`, `random.Random`).
"""

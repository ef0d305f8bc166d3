"""The toolkit of controllers: caches that follow the server, queues, expectations, events, election.

The toolkit uses a client (`longshore.client`) and the shapes of objects; it imports no controller.
docs/how-to/toolkit.md is its tour, examples/toolkit/ a whole controller built on it. Everything runs on one
event loop; clock and random numbers are parameters (`clock.Clock`, `random.Random`).
"""

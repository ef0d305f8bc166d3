"""The control plane on the virtual clock: what would happen to these manifests, from one seed.

The controllers, schedulers and the API are those of `longshore up`, unchanged. Nodes run nothing: how pods go
is told by outcomes (`outcome_file.py`, `outcome_notes.py`). Nothing is written and nothing is asked of the
machine, so the same seed gives the same bytes everywhere.

| part | what it does |
| --- | --- |
| `settings.py` | the question: manifests, nodes, outcomes, times, seed |
| `simulate.py` | plays it, and returns a `Result` |
| `sim_client.py` | a client for months in seconds: events are heard, not stored; watches never end |
| `fleet.py` | the nodes |
| `chronicle.py` | notes what happens, as it happens |
| `sim_result.py` | the answer, in rows |
| `remarks.py` | what a person would want to be warned of |
| `pictures/` | the answer as table, Gantt picture, page, trace |
"""

"""The control plane on the virtual clock: what would happen to given manifests, from one seed.

A scripted world (`testing/world.py`): controllers, schedulers, the API and the nodes' agent are those of
`longshore up`, unchanged. Nodes run nothing: rules (`longshore.scripts`) say how pods run and end. Nothing is
written to or read from the machine, so the same seed gives the same bytes everywhere.

| part | what it does |
| --- | --- |
| `settings.py` | the question: manifests, nodes, outcome files, times, seed |
| `simulate.py` | plays it, and returns a `SimResult` |
| `chronicle.py` | notes what happens, as it happens |
| `sim_result.py` | the answer, in rows |
| `remarks.py` | what a person would want to be warned of |
| `pictures/` | the answer as table, Gantt picture, page, trace |
"""

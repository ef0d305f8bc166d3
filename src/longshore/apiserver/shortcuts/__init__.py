"""Shortcuts: each spares work on requests that come by the thousand. One contract holds for all of them:

    Asked, a shortcut answers the same bytes as the long way, or None.

The same bytes: the answer, what is stored, what watchers are told, and the dice and the clock are asked as
often. None: the request is unusual, and the long way (`rest/`) knows all the rules. A shortcut never
refuses; what is wrong with a request is for the long way to say. So a shortcut may be taken out at any
time, and nobody notices but by the clock.

Each is one file with a class that says what it relies on and which figure of `bench/` it earns
(`room.Shortcut`). The verbs ask the room in one place each:

| file | spares |
| --- | --- |
| `same_spec` | reading and judging a spec that another object had |
| `plain_events` | reading and judging events as the recorders of this process write them |
| `one_part` | reading and judging what a write of /status, or of finalizers that go, leaves alone |

One keeps to less, and says so: `placed_pods` stores a new pod with the node that the scheduler of this
process gives it at once, and so leaves out the state without a node. What is stored in the end is the same.

Others outside this room obey the same switch, each where its work is done:

| where | spares |
| --- | --- |
| `client/local.py`, values | encoding a request only to decode it again in the same process |
| `client/local.py`, `Pipeline` and writes made together | waits for the journal between writes |
| `client/local.py`, `packed` | the room of settled objects in caches: the store has them as JSON anyway |
| `client/local.py`, `LocalEvents` | waking a task for each change that informers hear of |
| `machinery/events/recorder.py` | a task and a wait for each new event: they go to the server together |
| `sim/sim_client.py`, `sim_store.py` | in a simulation: Events as objects, and who owns a field |

`Api(shortcuts=False)`, or LONGSHORE_SHORTCUTS=off for a whole `longshore up`, turns all of them off. The
suites and the recordings of real Kubernetes run both ways; `tests/apiserver/shortcuts` compares both ways
on random requests. `docs/decisions/shortcuts.md` has the figures, and says which shortcuts were removed for
earning too little.
"""

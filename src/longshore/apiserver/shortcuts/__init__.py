"""Shortcuts: each spares work on requests that come by the thousand. One contract holds for all of them:

A shortcut answers the same bytes as the long way, or None.

"The same bytes" holds for the answer, for stored objects and for watchers; random numbers and the clock are
read as often. None means an unusual request: the long way (`rest/`) knows all the rules. A shortcut never
refuses: the long way says what is wrong with a request. So a shortcut may be taken out at any time, and only
the speed changes.

There are five. Three are here, each a class that says what it relies on and which figure of `bench/` it earns
(`shortcut.Shortcut`). The verbs ask the first two, in one place each; the third is how an API stages new
objects while a scheduler of its process places pods (`Api.stage_new`):

| file | spares |
| --- | --- |
| `same_spec` (with `spec_differences`) | reading and judging a spec that another object had |
| `one_part` | reading and judging what a write of /status, or of finalizers that go, leaves alone |
| `placed_pods` | the write of a new pod without its node |

`placed_pods` promises less: watchers do not see the state without a node. What is stored in the end is the
same. The fourth is `client/local.py`: a client in the server's process hands over values instead of bytes,
waits for the journal once for many writes, and takes changes without waking a task for each. The fifth is
`sim/repeated_days.py`: a simulation does not play days of CronJobs that repeat the day before.

`Api(shortcuts=False)`, or LONGSHORE_SHORTCUTS=off for `longshore up`, `sim` and `controllers`, turns all of
them off. It also turns off caches of parts of objects, and the omissions of a simulation. The suites and the
recordings of real Kubernetes run both ways; `tests/apiserver/shortcuts` compares both ways on random
requests. `docs/decisions/shortcuts.md` has the figures, and says which shortcuts were removed for earning too
little.
"""

"""How pods go, as data: a selector, runs with their delays and ends, and the attempt that gets each. Pure.

| module | has |
| --- | --- |
| `pod_rules.py` | which pod gets which run: `Rule`, and `Scripts` that counts attempts |
| `runs.py` | how one run of a container goes: `Run`, `Exit`, `Chance`, and `Exec` for commands |
| `spreads.py` | durations, and spreads from which they are drawn |
| `script_documents.py` | reads rules in YAML: `longshore sim --outcomes`, `longshore up --scripted` |
| `annotated_pods.py` | reads annotations of work and of pod templates |
| `past_runs.py` | makes rules from past runs |

Objects of `longshore.testing` say it in Python. A scripted node (`testing/scripted_node.py`) follows it.
"""

"""The checks of Volcano's webhooks beyond the schemas of its kinds, to the message text.

Each function gets an object as Go's types read it and returns the text of the refusal, or an empty text.
Facts about other objects (queues) are parameters; see `apiserver/admission/volcano`, which also names the
webhook that refuses.

| file | checks |
| --- | --- |
| `job` | a new Job with its tasks, policies and volumes, and what may change in a Job |
| `queue` | a Queue by itself, and a PodGroup |
| `cronjob`, `hypernode`, `jobflow`, `pod` | the kinds of these names |
"""

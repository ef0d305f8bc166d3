"""The checks of Volcano's webhooks beyond the schemas of its kinds, to the message text.

Each function gets an object as `typed.read` gives it and returns the text of the refusal, or an empty
text. What needs to see other objects (queues) is asked through parameters; see
`apiserver/admission/volcano`, which also says which webhook speaks.

| file | checks |
| --- | --- |
| `job`, `tasks`, `policies`, `volumes`, `dag` | a new Job |
| `job_update` | what may change in a Job |
| `queue` | what a Queue says of itself |
| `cronjob`, `jobflow`, `pod`, `podgroup` | the kinds of these names |
"""

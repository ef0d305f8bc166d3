"""Decisions that need more than the object itself: whether its namespace is open, whether it fits the limits.

Every function here is pure. It reads other objects through its parameters (`lookup`), and raises the refusal,
changes the object it is given, or returns further objects to write.

| file | decides |
| --- | --- |
| `namespace` | whether a namespace takes new objects |
| `pod` | priority and tolerations of pods |
| `limitranger` | defaults and bounds of a namespace's LimitRanges |
| `quota`, `quota_usage` | what a ResourceQuota still allows, and what an object counts for |
| `storageclass`, `priorityclass` | the default class of claims, the one default priority |
| `volcano` | what Volcano's webhooks fill in and refuse |
"""

"""Decisions that need to see more than the object itself: is its namespace open, does it fit the limits.

Every function here is pure: it gets what it must know as parameters (`lookup` says in which form) and
either raises the refusal, changes the object it is given, or returns what else must be written.

| file | decides |
| --- | --- |
| `namespace` | whether a namespace takes new objects |
| `pod` | priority and tolerations of pods |
| `limitranger` | defaults and bounds of a namespace's LimitRanges |
| `quota`, `quota_usage` | what a ResourceQuota still allows, and what an object counts for |
| `storageclass`, `priorityclass` | the default class of claims, the one default priority |
| `volcano` | what Volcano's webhooks fill in and refuse |
"""

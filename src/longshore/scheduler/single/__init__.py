"""The pod scheduler: which pod comes first, its node, and the pods that are evicted for it."""

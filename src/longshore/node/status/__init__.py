"""The status of a pod: built from the node's memory, written with as few requests as possible."""

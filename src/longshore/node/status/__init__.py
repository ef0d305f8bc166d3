"""What the node reports of a pod: built from what it remembers, written with as few requests as possible."""

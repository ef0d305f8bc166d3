"""Work queues of keys, the workers that sync them, and the pauses after failures."""

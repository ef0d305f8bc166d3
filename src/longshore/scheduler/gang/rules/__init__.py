"""Rules of single plugins: pure functions over tasks, nodes, queues and the time."""

"""The model of a cycle: tasks, groups of tasks, queues, and their sums."""

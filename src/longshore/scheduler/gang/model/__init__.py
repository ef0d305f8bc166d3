"""What a cycle is about: tasks, groups of them, queues, and what these have in sum."""

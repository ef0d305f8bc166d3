"""Objects a Volcano Job creates: pods from its tasks, its PodGroup, its volumes, its plugins' objects."""

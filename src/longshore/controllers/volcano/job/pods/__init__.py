"""Objects a Volcano Job makes: pods from its tasks, its PodGroup, its volumes, its plugins' objects."""

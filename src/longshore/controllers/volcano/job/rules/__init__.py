"""The rules of a Volcano Job as data and pure functions: phases, policies, dependencies between tasks."""

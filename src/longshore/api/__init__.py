"""What Kubernetes objects are: kinds, schema, defaults, validation, patches. Pure; no I/O, no clock."""

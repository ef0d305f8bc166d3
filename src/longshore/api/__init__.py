"""The rules of Kubernetes objects: kinds, schema, defaults, validation, patches. Pure; no I/O, no clock."""

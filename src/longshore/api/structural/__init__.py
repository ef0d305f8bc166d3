"""Structural schemas: the types in a CustomResourceDefinition, and how they are enforced on its objects.

A schema (`openAPIV3Schema`, plain JSON) is compiled once into a tree of `node.Node`. Each file does one thing
with it: `prune.py` drops unknown fields, `validate.py`, `composed.py` and `embedded.py` check values,
`kind_schema.py` fills in defaults, checks lists and makes shapes for server-side apply. `rules.py` and
`structure.py` decide whether Kubernetes would accept a schema.

Rules in CEL (`x-kubernetes-validations`) are kept and never evaluated.
"""

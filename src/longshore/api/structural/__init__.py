"""Structural schemas: what a CustomResourceDefinition says of its objects, and how that is enforced.

A schema (`openAPIV3Schema`, plain JSON) is compiled once into a tree of `node.Node`. One file for each
thing that is done with it: unknown fields are dropped (`prune.py`), defaults filled in (`defaults.py`),
values checked (`validate.py`, `composed.py`, `lists.py`, `embedded.py`), server-side apply told which
parts have owners of their own (`shapes.py`). Whether a schema is one Kubernetes would accept is
decided in `rules.py` and `structure.py`.

Rules in CEL (`x-kubernetes-validations`) are kept and never evaluated.
"""

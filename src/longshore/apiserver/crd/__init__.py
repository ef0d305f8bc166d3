"""Custom resources: what a write to a CustomResourceDefinition causes.

`naming.py` decides which names a definition gets, `rows.py` makes rows of the resource table from it,
`lifecycle.py` does both after every write and deletes a definition's objects before the definition, and
`scale.py` answers /scale. Everything happens within the write that causes it: no controller is needed.
"""

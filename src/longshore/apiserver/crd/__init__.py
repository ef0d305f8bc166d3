"""Users' own kinds: what a CustomResourceDefinition sets in motion.

`naming.py` decides which names a definition gets, `rows.py` makes rows of the resource table from it,
`lifecycle.py` does both after every write and clears a definition's objects away before it goes, and
`scale.py` answers /scale. Everything happens within the write that causes it: no controller is needed.
"""

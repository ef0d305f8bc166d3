"""One file per kind (its strategy), and `table.py`, which lists them all."""

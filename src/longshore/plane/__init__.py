"""The control plane without files, sockets, processes or a machine: see `plane.py`."""

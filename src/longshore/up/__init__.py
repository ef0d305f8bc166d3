"""The composition root: wires store, API server and controllers into one running longshore."""

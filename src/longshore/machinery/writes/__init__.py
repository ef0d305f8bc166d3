"""Writes of controllers: those that a cache does not show yet, and those that many controllers make."""

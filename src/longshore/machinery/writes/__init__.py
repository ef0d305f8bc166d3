"""Writes of controllers: writes that a cache does not show yet, and writes common to many (pods, owners)."""

"""Writes of controllers: those not seen yet in a cache, and those that many make (pods, owners)."""

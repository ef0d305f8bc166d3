"""Defaults that the server fills in before anything else looks at an object. One file per kind."""

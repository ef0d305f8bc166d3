"""Startup, liveness and readiness: asking a container how it is."""

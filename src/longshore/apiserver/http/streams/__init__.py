"""Connections in both directions: exec, attach and port-forward over WebSocket or SPDY."""

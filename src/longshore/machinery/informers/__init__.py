"""Caches that follow one resource on the server, and handlers that hear of every change."""

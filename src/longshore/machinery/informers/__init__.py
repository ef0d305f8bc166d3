"""Informers: caches that follow one resource on the server, and handlers called for every change."""

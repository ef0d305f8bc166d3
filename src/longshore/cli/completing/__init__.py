"""Completion in shells: the scripts ask `longshore completion words`, which asks parsers and the server."""

"""The command line's side of the connection: where the server is, requests, watches, what it refuses."""

"""The command line's side of the connection: the server's address, requests, watches, refusals."""

"""Service accounts in pods: their directory, and the tokens in it."""

"""Words between the keeper and longshore: frames on a Unix socket, peers, and the loop that waits for all."""

"""Where a cycle tries things: its own session, the nodes in it, and what queues may give."""

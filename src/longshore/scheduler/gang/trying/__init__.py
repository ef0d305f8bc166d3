"""The trial of a cycle: its session, copies of the nodes, and the limits of queues."""

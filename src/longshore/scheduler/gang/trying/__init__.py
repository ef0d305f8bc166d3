"""The trial of a cycle: its gangs and queues, copies of the nodes, and the limits of queues."""

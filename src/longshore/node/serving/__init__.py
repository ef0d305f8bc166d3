"""The node's access to its pods: logs, commands run in them, their ports, their usage."""

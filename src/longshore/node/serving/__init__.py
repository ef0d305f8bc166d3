"""What the node shows of its pods: logs, commands run in them, their ports, what they use."""

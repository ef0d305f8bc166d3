"""Gives pending pods a node, and says with numbers why a pod waits."""

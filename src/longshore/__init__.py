"""The batch half of Kubernetes in one Python process."""

__version__ = "0.1.0"

"""The engine for any Kubernetes: HTTPS, retries, streams."""

from longshore.client.http.engine import HttpClient

__all__ = ["HttpClient"]

"""Controllers outside of longshore: against any Kubernetes over HTTP, one leader among several processes."""

"""Controllers outside: the same ones, against any Kubernetes over HTTP, one leader among several."""

"""SPDY/3.1, as much of it as Kubernetes' clients speak: streams opened by the client, no flow control."""

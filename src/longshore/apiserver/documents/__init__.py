"""Documents the server makes of itself: discovery, version, health, metadata-only forms, resource usage."""

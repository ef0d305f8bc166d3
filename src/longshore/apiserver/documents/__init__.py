"""Documents about the server itself: discovery, version, health, metadata-only forms, resource usage."""

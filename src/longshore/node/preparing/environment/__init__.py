"""Variables of a container: from its spec, ConfigMaps, Secrets, Services, and the pod itself."""

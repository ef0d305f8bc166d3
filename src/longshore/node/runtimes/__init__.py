"""The runtimes that start containers: processes of this machine, or podman's containers."""

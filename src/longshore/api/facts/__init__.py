"""Facts about Kubernetes that many rooms ask for, each written down once: one small file a noun."""

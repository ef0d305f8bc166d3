"""Facts about Kubernetes that many packages need, each written down once: one small file per noun."""

"""The address of the API server and the caller's identity: kubeconfig files, or the files a pod finds
inside a cluster."""

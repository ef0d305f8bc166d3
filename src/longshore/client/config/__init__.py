"""Where the API server is and who we are: kubeconfig files, or the files a pod finds inside a cluster."""

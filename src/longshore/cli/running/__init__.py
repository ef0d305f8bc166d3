"""`longshore run`: manifests, or one command many times, taken to their end while a person watches."""

"""`longshore run`: runs manifests, or one command many times, to their end while a person watches."""

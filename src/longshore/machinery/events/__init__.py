"""Events: which of them are worth a write, and the recorder that writes them."""

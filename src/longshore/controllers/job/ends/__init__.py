"""How pods and Jobs end: counting finished pods once, policies, the outcome, the terminal condition."""

"""How pods and Jobs end: each finished pod counted once, policies, the outcome, the terminal condition."""

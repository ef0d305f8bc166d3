"""Access control: RBAC, tokens, and the reviews that ask about both."""

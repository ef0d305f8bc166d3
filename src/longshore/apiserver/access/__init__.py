"""Who may do what: RBAC, tokens, and the reviews that ask about both."""

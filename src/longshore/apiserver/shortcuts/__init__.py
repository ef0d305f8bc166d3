"""Shortcuts: each answers the same bytes as the long way, or None. One switch turns them all off."""

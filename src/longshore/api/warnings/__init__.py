"""Texts for `Warning:` headers: settings that are allowed and probably mistakes. One file per kind."""

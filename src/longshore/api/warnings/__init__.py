"""Texts for `Warning:` headers: things that are allowed and probably not meant. One file per kind."""

"""The pages of which the docs show a picture, and in which colours. Apart, because it needs no browser."""

from __future__ import annotations

IN_DOCS = {"job": "light", "overview": "dark", "gang": "light", "cronjob": "light"}

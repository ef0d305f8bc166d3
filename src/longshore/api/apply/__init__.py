"""Ownership of fields: server-side apply and metadata.managedFields.

`apply` merges a configuration into an object; `managed.after_update` updates managedFields for all other
writes. Both work on plain JSON and a shape (`api/shape.py`).
"""

from __future__ import annotations

from longshore.api.apply.applying import apply, fields_of

__all__ = ["apply", "fields_of"]

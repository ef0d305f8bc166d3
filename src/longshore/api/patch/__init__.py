"""The three patch formats, as pure functions on JSON values. Server-side apply is in `api/apply/`."""

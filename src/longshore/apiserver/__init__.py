"""The API server: REST semantics over the store (`rest/`), then HTTP over that (`http/`)."""

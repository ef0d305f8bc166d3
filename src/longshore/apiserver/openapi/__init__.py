"""OpenAPI documents: the shape of every kind, for `kubectl explain`, `apply` and generated clients."""

from longshore.apiserver.openapi.documents import CrdSchemas, Documents

__all__ = ["CrdSchemas", "Documents"]

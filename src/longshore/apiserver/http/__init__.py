"""HTTP over the API: connections, credentials, negotiation, streaming."""

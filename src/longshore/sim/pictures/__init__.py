"""Pictures of a result: timelines, tables, and a page of both. Pure."""

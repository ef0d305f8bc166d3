"""Output in kubectl's forms: tables, JSON, YAML, names, templates."""

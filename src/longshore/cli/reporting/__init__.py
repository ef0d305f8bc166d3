"""Reports on the work of the last hours or days, as text, Markdown or a page for a mail."""

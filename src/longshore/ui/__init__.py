"""The dashboard: pages, scripts and styles as they are sent to a browser. Nothing is built."""

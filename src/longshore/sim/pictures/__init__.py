"""Pictures of a result: a timeline for the dashboard's component, an SVG, a trace for Perfetto. Pure."""

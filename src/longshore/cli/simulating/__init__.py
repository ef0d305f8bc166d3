"""`longshore sim`: turns arguments into a question, and results into output."""

"""`longshore sim`: from arguments to a question, from results to what is printed."""

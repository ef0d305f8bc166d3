"""What several commands show: events, outcomes, logs, upcoming runs."""

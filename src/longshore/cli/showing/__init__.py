"""Output that several commands share: events, outcomes, logs, upcoming runs."""

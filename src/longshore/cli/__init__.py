"""What a person types. One file a command in `commands/`; only the command that runs is imported."""

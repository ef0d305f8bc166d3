"""The command line. Each command is one file in `commands/`; only the command that runs is imported."""

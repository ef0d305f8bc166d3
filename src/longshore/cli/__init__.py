"""Commands. Each command is one file in `commands/`; Volcano's are rows of `volcano/command_table.py`.
Only the command that runs is imported."""

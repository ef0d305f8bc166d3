"""The commands: each has `add_arguments(parser)` and `run(arguments) -> exit code`."""

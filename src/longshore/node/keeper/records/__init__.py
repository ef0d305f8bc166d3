"""The keeper's files: the journal of containers, their logs, and the files for termination messages."""

"""Arguments that people type: kinds, names, files, durations."""

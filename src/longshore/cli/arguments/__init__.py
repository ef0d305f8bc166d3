"""What people type: kinds, names, files, durations."""

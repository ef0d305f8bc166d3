"""Processes of containers: started, found in /proc, adopted after a crash, killed with all descendants."""

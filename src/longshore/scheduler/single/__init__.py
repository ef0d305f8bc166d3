"""The scheduler for single pods: which waits first, where it goes, who must make room."""

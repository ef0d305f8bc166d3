"""Clocks, real and virtual, the time zone of this process, and clocks that jump."""

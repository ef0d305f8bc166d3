"""Times and durations as texts, numbers and words for people. No clock is read here; see machinery/time.

A moment is an `Instant` (whole nanoseconds since 1970) where it is compared and counted, and an RFC 3339 text
in objects. Leap seconds do not exist, as in Go.
"""

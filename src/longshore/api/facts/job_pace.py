"""Annotations by which a Job asks for its own pace: `longshore run` writes them, the Job controller obeys."""

from __future__ import annotations

from typing import Final

START_INTERVAL: Final = "longshore.dev/start-interval"
"""The time from one start of a pod to the next: `500ms`."""
RETRY_BACKOFF: Final = "longshore.dev/retry-backoff"
"""The pause before the first retry, which doubles with each further one: `1s`."""

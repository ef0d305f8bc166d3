"""Which Job is looked at, and when: handlers of changes, selectors by index, batches of failures, orphans."""

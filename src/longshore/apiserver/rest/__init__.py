"""The verbs: one file each. They are synchronous from read to stage, so writers never interleave."""

"""The pods of a Job: how many should run, which to create or remove, and when to replace a failed one."""

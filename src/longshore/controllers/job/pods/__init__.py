"""The pods of a Job: how many there should be, which to create, which to remove, when to replace one."""

"""Starts Jobs on a schedule: one loop for two controllers, and a dialect for each kind of CronJob."""

"""Starts Jobs on a schedule: one loop for all kinds of CronJobs, and a dialect for each. No controller."""

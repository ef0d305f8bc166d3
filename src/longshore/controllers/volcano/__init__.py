"""Volcano's controllers: Jobs, CronJobs, JobFlows, PodGroups, queues, and the deletion of finished Jobs."""

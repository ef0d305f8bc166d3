"""CronJobs from command lines and crontabs, and crontabs from CronJobs."""

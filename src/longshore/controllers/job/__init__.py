"""The Job controller: runs the pods of a Job, counts each end once, and says when the Job has come to its own."""

"""Whether a node fits a pod: upstream's filters, one file each, on facts computed once per pod spec."""

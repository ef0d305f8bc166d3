"""Whether a node suits a pod: upstream's filters, one file each, on facts worked out once per pod spec."""

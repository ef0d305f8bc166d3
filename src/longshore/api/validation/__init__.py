"""What is wrong with an object, as a list of field errors. One file per kind, nothing changes anything."""

"""What a controller wrote and has not seen yet, and the writes that many controllers make: pods, owners."""

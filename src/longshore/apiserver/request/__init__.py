"""One request, read: its path, options, body and the form of answer it asks for."""

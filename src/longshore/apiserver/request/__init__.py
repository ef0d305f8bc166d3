"""Reads one request: its path, options, body and the output form it asks for."""

"""Volcano's scheduler configuration: which plugins there are, how a file is read and followed."""

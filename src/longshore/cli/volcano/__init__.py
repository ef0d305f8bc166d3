"""The commands of Volcano's own command line (vcctl), with its flags, words and columns.

`command_table.py` lists them, `vcctl.py` parses and ends each one; the other files are the nouns.
"""

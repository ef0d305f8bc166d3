"""The commands of Volcano's own command line (vcctl), with its flags, words and columns.

`vcctl.py` declares and ends each of them; the other files are the nouns.
"""

"""The commands of Volcano's own command line (vcctl), with its flags, words and columns.

`verbs.py` is how each of them is declared and ends; the other files are the nouns.
"""

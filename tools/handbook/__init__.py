"""Makes the handbook from the real thing: reference pages from the code, pictures from real sessions.

`make docs` builds the site and `make pictures` the pictures; tests/docs checks both. Nothing here is part
of the package that users install.
"""

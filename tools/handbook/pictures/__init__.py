"""Pictures for README and docs, each made from the real thing by `make pictures`.

`terminal.py` records real sessions and `terminal_svg.py` draws them; `counting.py` draws the writes of a real
run, and `boxes.py` diagrams from data.
"""

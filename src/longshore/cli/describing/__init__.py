"""`longshore describe`: objects in detail, in kubectl's layout. One file per kind, pure: objects in, text
out.

Text has tabs between columns, which `printing.columns` aligns at the end.
"""

"""`longshore describe`: objects in words, in kubectl's layout. One file a kind, pure: objects in, text out.

Text is written with tabs between columns, which `printing.columns` aligns at the end.
"""

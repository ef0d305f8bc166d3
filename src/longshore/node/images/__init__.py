"""The meaning of images to the process runtime: a table from image names to commands and tools here.

The table is pure (`image_table.py`); a file of the user's extends it (`images_file.py`).
"""

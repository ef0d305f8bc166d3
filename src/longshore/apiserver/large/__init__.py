"""Writes with large bodies: computed in a separate process, then staged at once.

Reading and checking 3 MiB takes seconds of Python, in which no other client would get an answer. A thread
would share the interpreter, and some of the work holds the interpreter for 300 ms at a time. So the verb runs
in another process, on a view of the store: it asks for each object it reads, and only notes what it would
stage. Then, in one turn of the loop, everything it read is compared with the current objects. If nothing has
changed, the writes are staged as if the verb had run in that turn; else the verb runs again.

The process starts with the first large body and ends a while after the last, which frees its memory.
"""

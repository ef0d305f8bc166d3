"""Writes with large bodies: worked out in a process of their own, and then staged at once.

Reading and checking 3 MiB takes seconds of Python, in which nobody else would get an answer. In a thread it
would share the interpreter with everybody, and some of it holds the interpreter for 300 ms at a time. So the
verb runs in another process, on a view of the store: it asks for each object it reads, and only notes what it
would stage. Then, in one turn of the loop, all that was read is compared with what is there now. If nothing
has changed, the writes are staged as if the verb had run in that very turn; if something has, it runs again.

The process starts with the first large body and ends a while after the last, and all memory with it.
"""

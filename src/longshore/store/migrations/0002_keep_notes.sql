-- Notes that others keep beside the objects, several to a row, oldest first. Old rows are removed.
CREATE TABLE notes (
    number INTEGER PRIMARY KEY,
    at     REAL    NOT NULL,
    notes  INTEGER NOT NULL,
    data   BLOB    NOT NULL
) STRICT;

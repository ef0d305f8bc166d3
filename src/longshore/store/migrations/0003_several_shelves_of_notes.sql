-- Notes stand on shelves, each with numbers of its own. Those there are were reasons.
CREATE TABLE shelved (
    shelf  TEXT    NOT NULL,
    number INTEGER NOT NULL,
    at     REAL    NOT NULL,
    notes  INTEGER NOT NULL,
    data   BLOB    NOT NULL,
    PRIMARY KEY (shelf, number)
) STRICT;
INSERT INTO shelved SELECT 'reasons', number, at, notes, data FROM notes;
DROP TABLE notes;
ALTER TABLE shelved RENAME TO notes;

-- One row for every write, in order. Rows are only ever added at the end and, once superseded and
-- out of the watch window, removed. The integer primary key is the table itself: no index to keep.
CREATE TABLE journal (
    revision  INTEGER PRIMARY KEY,
    storage   TEXT    NOT NULL,
    namespace TEXT    NOT NULL,
    name      TEXT    NOT NULL,
    deleted   INTEGER NOT NULL,
    checksum  INTEGER NOT NULL,
    value     BLOB    NOT NULL
) STRICT;

-- One row: history up to and including this revision may have gaps; what is left of it is state.
-- Starts at 1, as the first revision of etcd does: "0" has a meaning of its own in the API.
CREATE TABLE compacted (revision INTEGER NOT NULL) STRICT;
INSERT INTO compacted VALUES (1);

-- What operators say about a cause of dead letters: a note, and whether it is muted.
create table jobkit.causes (
    fingerprint text collate "C" primary key,    -- of the dead letters
    note text,
    noted_by text,
    noted_at timestamptz,
    muted_until timestamptz                      -- until then none of them needs attention
);

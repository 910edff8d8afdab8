-- announce: what this binary says of its kinds.
-- $1 kinds, $2 queues, $3 priorities, $4 max attempts, $5 retention, $6 groups, $7 limits,
-- $8 how long until dead letters replay by themselves, $9 how often they may be buried, $10 paths
-- that are not shown, with commas between, $11 whether there may be no key, $12 how long
-- after its time a job may begin, $13 for how long after its first failure one is tried again,
-- $14 retention of what was discarded or cancelled, where it is another; $15 paths that are
-- sealed, with commas between; $16 whether a payload may be a JSON string
select jobkit.announce($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15,
    $16)

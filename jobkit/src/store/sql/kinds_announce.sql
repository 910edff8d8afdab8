-- announce: records the settings of this binary's kinds.
-- $1 kinds, $2 queues, $3 priorities, $4 max attempts, $5 retention, $6 groups, $7 limits,
-- $8 how long until dead letters are replayed automatically, $9 how often they may be buried,
-- $10 redacted paths, separated by commas, $11 whether the key may be missing, $12 how long after
-- it was due a job may start, $13 how long after its first failure it is retried,
-- $14 retention of discarded or cancelled jobs, if different; $15 sealed paths, separated by
-- commas; $16 whether a payload may be a JSON string
select jobkit.announce($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15,
    $16)

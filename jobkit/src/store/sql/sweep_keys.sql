-- sweep: fills keys with free permits and blocked jobs; returns how many jobs became ready, and
-- the key after which the next page begins.
-- $1 group and $2 key after which this page begins, $3 keys to look at
select unblocked, last_group, last_key from jobkit.sweep($1, $2, $3)

-- sweep: waits for everybody who may have decided without having seen a worker that just began.
-- $1 for how long at most, in milliseconds
select jobkit.sweep_start($1)

-- reap, first half: removes workers whose lease has lapsed, if the reaper's own has not.
-- $1 reaper
select * from jobkit.reap_workers($1)

-- sweep: whether the next periodic one is due, with anything to look at, and whether something
-- explains what it may find.
-- $1 how often
select due, explained from jobkit.sweep_begin($1)

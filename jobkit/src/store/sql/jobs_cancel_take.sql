-- cancel, second half: takes the marked job from where it waits; true when it has ended.
-- $1 job, $2 reason
select jobkit.cancel_take($1, $2)

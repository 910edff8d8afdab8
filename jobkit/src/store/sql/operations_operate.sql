-- operate: one step of an operation; null when somebody else is at it, or it has ended.
-- $1 operation, $2 how many jobs or dead letters at most
select outcome from jobkit.operate($1, $2)

-- cancel, first half: the mark that ends jobs wherever they are next touched; returns those that
-- are live.
-- $1 jobs; for the audit $2 action, $3 actor, $4 detail
select * from jobkit.cancel_mark($1, $2, $3, $4)

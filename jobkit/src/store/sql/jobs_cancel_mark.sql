-- cancel, first half: the mark that ends jobs wherever they are next touched; returns those that
-- are live.
-- $1 jobs
select * from jobkit.cancel_mark($1)

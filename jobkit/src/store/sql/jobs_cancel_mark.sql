-- cancel, first half: the mark that ends jobs wherever they are next touched; returns the live ones.
-- $1 jobs
select * from jobkit.cancel_mark($1)

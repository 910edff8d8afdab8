-- cancel, first half: the mark that ends the job wherever it is next touched.
-- $1 job
select jobkit.cancel_mark($1)

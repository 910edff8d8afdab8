-- Sequences that are behind the ids that are there, and how far.
select s.name, s.behind from jobkit.sequences_behind() s order by s.name

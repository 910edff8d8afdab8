-- Sequences that are behind the existing ids, and how far.
select s.name, s.behind from jobkit.sequences_behind() s order by s.name

-- How durable this session's commits are; start-up warns when an acknowledged job may be lost.
select current_setting('synchronous_commit')

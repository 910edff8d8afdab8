-- enqueue of one job that is due at once: it only inserts. It runs in a session of the
-- application's, whatever its search_path and its rights. Parameters are what they are, but the
-- payload is text: to prepare for casts is a twentieth of the server's work.
-- $1 kind, $2 queue, $3 priority, $4 max attempts, $5 group, $6 key (both or neither),
-- $7 dead-letter key, $8 payload, $9 tags, $10 metadata, $11 version
select jobkit.store_one($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) as job_id
where jobkit.enqueue_form_1()

-- The server's version and the database's encoding, on a connection with unknown settings.
select pg_catalog.current_setting('server_version_num')::pg_catalog.int4 as version,
    pg_catalog.current_setting('server_encoding') as encoding

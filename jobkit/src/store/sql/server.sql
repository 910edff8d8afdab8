-- What kind of server and database this is, on a connection of which nothing is known yet.
select pg_catalog.current_setting('server_version_num')::pg_catalog.int4 as version,
    pg_catalog.current_setting('server_encoding') as encoding

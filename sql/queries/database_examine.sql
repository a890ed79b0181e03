-- Reads the server's version and settings, for the operator.
-- lane read
-- not null version, version_no, is_standby, fsync, full_page_writes, synchronous_commit, connections_max, gives_up
-- not null now_ms, bytes
select current_setting('server_version') as version, current_setting('server_version_num')::integer as version_no,
  pg_is_in_recovery() as is_standby, current_setting('fsync') = 'on' as fsync,
  current_setting('full_page_writes') = 'on' as full_page_writes,
  current_setting('synchronous_commit') as synchronous_commit,
  current_setting('max_connections')::integer - current_setting('superuser_reserved_connections')::integer
    as connections_max,
  current_setting('statement_timeout') <> '0' and current_setting('client_connection_check_interval') <> '0' as gives_up,
  floor(extract(epoch from clock_timestamp()) * 1000)::bigint as now_ms, pg_database_size(current_database()) as bytes

-- How far this primary has written what is durable, on which timeline of which cluster: a standby that has replayed as
-- much shows all that anybody was shown here before.
-- lane read
-- not null lsn, timeline, cluster
select
  pg_current_wal_flush_lsn()::text as lsn,
  left(pg_walfile_name(pg_current_wal_flush_lsn()), 8) as timeline,
  (select system_identifier::text from pg_control_system()) as cluster

-- Reads the primary's durable WAL position with its timeline and cluster: a standby that has replayed as much has all
-- data that this primary has shown before.
-- lane read
-- not null lsn, timeline, cluster
select
  pg_current_wal_flush_lsn()::text as lsn,
  left(pg_walfile_name(pg_current_wal_flush_lsn()), 8) as timeline,
  (select system_identifier::text from pg_control_system()) as cluster

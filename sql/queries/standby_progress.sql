-- Reads the standby's replay lag behind a WAL position of the primary, in bytes (0 or less: none) and in seconds since
-- the last replayed change. is_copy is false if it is not a standby of that primary's cluster and timeline.
-- lane read
-- $1 lsn text
-- $2 timeline text
-- $3 cluster text
-- not null is_copy, behind_bytes
select
  pg_is_in_recovery()
    and (select system_identifier::text from pg_control_system()) = $3::text
    and (select upper(lpad(to_hex(timeline_id), 8, '0')) from pg_control_checkpoint()) = $2::text as is_copy,
  coalesce(pg_wal_lsn_diff($1::text::pg_lsn, pg_last_wal_replay_lsn()), 0)::float8 as behind_bytes,
  extract(epoch from clock_timestamp() - pg_last_xact_replay_timestamp())::float8 as replayed_sec

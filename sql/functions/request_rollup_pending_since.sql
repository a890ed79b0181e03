-- Returns the first transaction whose rows of request_rollup_pending must be read: without it, rows deleted under an
-- old snapshot would be read again. In another cluster, as after a restore, transactions are numbered differently.
create or replace function request_rollup_pending_since() returns xid8 language sql stable as $$
  select coalesce(max(f.xid), '0') from request_rollup_floor f where f.xid <= pg_snapshot_xmin(pg_current_snapshot())
$$;

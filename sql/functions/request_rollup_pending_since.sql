-- From which transaction on rows of request_rollup_pending have to be looked for: without it, all that were deleted under
-- an old snapshot would be read again. In another cluster, as after a restore, transactions count differently.
create or replace function request_rollup_pending_since() returns xid8 language sql stable as $$
  select coalesce(max(f.xid), '0') from request_rollup_floor f where f.xid <= pg_snapshot_xmin(pg_current_snapshot())
$$;

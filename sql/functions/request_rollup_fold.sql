-- Merges pending rows into the rollups; one process at a time, concurrent calls do nothing.
-- lane background
create or replace function request_rollup_fold() returns void language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
  v_hour bigint;
  v_slot integer;
  v_since xid8;
  -- Rows of older transactions are visible to the statements below, or were rolled back.
  v_floor xid8 := pg_snapshot_xmin(pg_current_snapshot());
begin
  if not pg_try_advisory_xact_lock(hashtext('request_rollup')) then
    return;
  end if;
  v_since := request_rollup_pending_since();
  -- One hour at a time, and there is nearly always only one: an upsert may touch a row only once.
  for v_hour in select distinct p.hour from request_rollup_pending p where p.xid >= v_since loop
    v_slot := v_hour % 24 + 1;
    with gone as (
      delete from request_rollup_pending p where p.xid >= v_since and p.hour = v_hour
      returning p.organizations, p.callers, p.paths, p.statuses, p.requests, p.credits
    )
    insert into request_rollup as c (
      organization_no, day, caller_no, path_no, status, requests, credits, by_hour)
    select u.organization_no, v_hour / 24, u.caller_no, u.path_no, u.status, sum(u.requests), sum(u.credits),
      array_fill(0, array[v_slot - 1]) || sum(u.requests)::integer || array_fill(0, array[24 - v_slot])
    from gone g
    cross join lateral unnest(g.organizations, g.callers, g.paths, g.statuses, g.requests, g.credits)
      u (organization_no, caller_no, path_no, status, requests, credits)
    group by u.organization_no, u.caller_no, u.path_no, u.status
    having sum(u.requests) <> 0 or sum(u.credits) <> 0
    on conflict (organization_no, day, caller_no, path_no, status) do update
    set requests = c.requests + excluded.requests, credits = c.credits + excluded.credits,
      by_hour[v_slot] = c.by_hour[v_slot] + excluded.by_hour[v_slot];
  end loop;
  insert into request_rollup_floor as f (xid) values (v_floor)
  on conflict (id) do update set xid = excluded.xid where f.xid <> excluded.xid;
end
$$;

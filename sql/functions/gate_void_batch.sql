-- Ends requests whose settlement has an unknown outcome: refunds the charge and sets the row to 503; if there is no
-- row, inserts one, so that a settlement that arrives later conflicts with it. Releases their idempotency keys.
-- Idempotent. p_request_* as for gate_settle_batch, but with organization, key and path of each request instead of a
-- group, and without credits; p_limit_requests has the number of the request that a limit bound. Returns the number of
-- rows set to 503, the number of inserted rows, and the credits refunded.
--
-- Locks, in the order of settlements: the records of idempotency keys, names of the log without numbers, balances in
-- byte order of organizations, then their other limits.
-- lane background
create or replace function gate_void_batch(
  p_request_organizations text[], p_request_keys text[], p_request_paths text[],
  p_request_at_ms bigint[], p_request_settlements text[], p_request_ids text[], p_request_methods text[],
  p_request_unrouted_paths text[], p_request_latencies_ms integer[], p_request_admitted integer[],
  p_limit_requests integer[], p_limit_scopes text[], p_limit_daily integer[]
) returns table (voided integer, inserted integer, refunded bigint) language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_mergejoin = off set jit = off as $$
declare
  -- The log's numbers of each request's organization, caller and path.
  v_log_organizations integer[];
  v_log_callers integer[];
  v_log_paths integer[];
  -- Rows of the log to subtract from the rollups as they were, and to add again as 503.
  v_row_organizations integer[];
  v_row_at_ms bigint[];
  v_row_callers integer[];
  v_row_paths integer[];
  v_row_statuses integer[];
  v_row_credits integer[];
begin
  -- 1. Records first, because a settlement locks them before the balance. Otherwise a late original charges nothing.
  delete from idempotency_record r where r.settlement_id = any (p_request_settlements);
  -- 2. The log's numbers, then balances.
  select n.organizations, n.callers, n.paths into v_log_organizations, v_log_callers, v_log_paths
  from request_log_numbers(p_request_organizations, p_request_keys, p_request_paths) n;
  perform from spending_limit s
  where s.organization_id = any (p_request_organizations) and s.scope = '' and s.period = 0
  order by s.organization_id collate "C" for no key update;

  -- 3. Rows that were written: set to 503, and refunded.
  with found as (
    select l.organization_no, l.requested_at, l.settlement_id, r.organization_id, r.at_ms, l.caller_no, l.path_no,
      l.status, l.credits, r.no
    from unnest(p_request_organizations, v_log_organizations, p_request_at_ms, p_request_settlements) with ordinality
      r (organization_id, organization_no, at_ms, settlement_id, no)
    join request_log l on l.organization_no = any (array[r.organization_no])
      and l.requested_at = timestamptz 'epoch' + r.at_ms * interval '1 millisecond'
      and l.settlement_id = r.settlement_id
    where l.status <> 503
  ),
  -- Returns the rows as they were before.
  changed as (
    update request_log l set status = 503, credits = 0
    from found f
    where l.organization_no = any (array[f.organization_no]) and l.requested_at = f.requested_at
      and l.settlement_id = f.settlement_id
    returning f.organization_id, f.organization_no, f.at_ms, f.caller_no, f.path_no, f.status, f.credits, f.no
  ),
  -- Refunds the limits that were charged: the balance and the other limits of the request.
  refunds as (
    update spending_limit s set spent = s.spent - o.credits
    from (
      select d.organization_id, d.scope, d.period, sum(d.credits) as credits
      from (
        select c.organization_id, '' as scope, 0 as period, c.credits from changed c
        union all
        select c.organization_id, l.scope, l.daily * (c.at_ms / 86400000)::integer, c.credits
        from changed c
        join unnest(p_limit_requests, p_limit_scopes, p_limit_daily) l (no, scope, daily) on l.no = c.no
      ) d
      where d.credits > 0
      group by d.organization_id, d.scope, d.period
    ) o
    where s.organization_id = any (array[o.organization_id]) and s.scope = any (array[o.scope])
      and s.period = any (array[o.period])
  )
  select count(*), coalesce(sum(c.credits), 0), array_agg(c.organization_no), array_agg(c.at_ms),
    array_agg(c.caller_no), array_agg(c.path_no), array_agg(c.status), array_agg(c.credits)
  into voided, refunded, v_row_organizations, v_row_at_ms, v_row_callers, v_row_paths, v_row_statuses, v_row_credits
  from changed c;

  if voided > 0 then
    perform request_rollup_add(
      v_row_organizations, v_row_at_ms, v_row_callers, v_row_paths, v_row_statuses, v_row_credits, -1);
    perform request_rollup_add(
      v_row_organizations, v_row_at_ms, v_row_callers, v_row_paths, array_fill(503, array[voided]),
      array_fill(0, array[voided]), 1);
  end if;

  -- 4. Rows that were not written: tombstones.
  with added as (
    insert into request_log as l (
      requested_at, organization_no, caller_no, credits, latency_ms, status, path_no, admitted, settlement_id,
      request_id, method, asked)
    select timestamptz 'epoch' + r.at_ms * interval '1 millisecond', r.organization_no, r.caller_no, 0, r.latency_ms,
      503, r.path_no, r.admitted <> 0, r.settlement_id, r.request_id, r.method, r.unrouted_path
    from unnest(
      v_log_organizations, p_request_at_ms, p_request_settlements, p_request_ids, v_log_callers, p_request_methods,
      v_log_paths, p_request_unrouted_paths, p_request_latencies_ms, p_request_admitted)
      r (organization_no, at_ms, settlement_id, request_id, caller_no, method, path_no, unrouted_path, latency_ms,
        admitted)
    on conflict do nothing
    returning l.organization_no, (extract(epoch from l.requested_at) * 1000)::bigint as at_ms, l.caller_no, l.path_no
  )
  select count(*), array_agg(a.organization_no), array_agg(a.at_ms), array_agg(a.caller_no), array_agg(a.path_no)
  into inserted, v_row_organizations, v_row_at_ms, v_row_callers, v_row_paths
  from added a;

  if inserted > 0 then
    perform request_rollup_add(
      v_row_organizations, v_row_at_ms, v_row_callers, v_row_paths, array_fill(503, array[inserted]),
      array_fill(0, array[inserted]), 1);
  end if;
  return next;
end
$$;

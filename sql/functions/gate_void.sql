-- Ends requests whose settlement has an unknown outcome: refunds the charge and sets the row to 503; if there is no
-- row, inserts one, so that a settlement that arrives later conflicts with it. Releases their idempotency keys.
-- Idempotent. Paths, request ids and limits as for gate_settle, but p_limit_requests has the number of the request that
-- a limit bound. Returns the number of rows set to 503, the number of inserted rows, and the credits refunded.
-- lane background
create or replace function gate_void(
  p_organizations text[], p_requested_at_ms bigint[], p_settlements text[], p_requests text[], p_keys text[],
  p_methods text[], p_paths text[], p_asked text[], p_latencies_ms integer[], p_admitted integer[],
  p_limit_requests integer[], p_limit_scopes text[], p_limit_daily integer[]
) returns table (turned integer, left_behind integer, refunded bigint) language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_mergejoin = off set jit = off as $$
declare
  -- Numbers of each request's organization, caller and path.
  v_organizations integer[];
  v_callers integer[];
  v_paths integer[];
  -- Counts to subtract, and to add again as 503.
  v_requested_at_ms bigint[];
  v_counted_organizations integer[];
  v_counted_callers integer[];
  v_counted_paths integer[];
  v_statuses integer[];
  v_credits integer[];
begin
  -- First, because a settlement locks the record before the balance. Otherwise a late original charges nothing.
  delete from idempotency_record r where r.settlement_id = any (p_settlements);
  select n.organizations, n.callers, n.paths into v_organizations, v_callers, v_paths
  from request_log_numbers(p_organizations, p_keys, p_paths) n;
  perform from spending_limit s
  where s.organization_id = any (p_organizations) and s.scope = '' and s.period = 0
  order by s.organization_id collate "C" for no key update;

  -- Rows that were written, as they were before.
  with found as (
    select l.organization_no, l.requested_at, l.settlement_id, r.organization_id, r.at_ms, l.caller_no, l.path_no,
      l.status, l.credits, r.no
    from unnest(p_organizations, v_organizations, p_requested_at_ms, p_settlements) with ordinality
      r (organization_id, organization_no, at_ms, settlement_id, no)
    join request_log l on l.organization_no = any (array[r.organization_no])
      and l.requested_at = timestamptz 'epoch' + r.at_ms * interval '1 millisecond'
      and l.settlement_id = r.settlement_id
    where l.status <> 503
  ),
  turned as (
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
      select c.organization_id, c.scope, c.period, sum(c.credits) as credits
      from (
        select t.organization_id, '' as scope, 0 as period, t.credits from turned t
        union all
        select t.organization_id, l.scope, l.daily * (t.at_ms / 86400000)::integer, t.credits
        from turned t
        join unnest(p_limit_requests, p_limit_scopes, p_limit_daily) l (no, scope, daily) on l.no = t.no
      ) c
      where c.credits > 0
      group by c.organization_id, c.scope, c.period
    ) o
    where s.organization_id = any (array[o.organization_id]) and s.scope = any (array[o.scope])
      and s.period = any (array[o.period])
  )
  select count(*), coalesce(sum(t.credits), 0), array_agg(t.organization_no), array_agg(t.at_ms),
    array_agg(t.caller_no), array_agg(t.path_no), array_agg(t.status), array_agg(t.credits)
  into turned, refunded, v_counted_organizations, v_requested_at_ms, v_counted_callers, v_counted_paths, v_statuses,
    v_credits
  from turned t;

  if turned > 0 then
    perform request_rollup_add(
      v_counted_organizations, v_requested_at_ms, v_counted_callers, v_counted_paths, v_statuses, v_credits, -1);
    perform request_rollup_add(
      v_counted_organizations, v_requested_at_ms, v_counted_callers, v_counted_paths, array_fill(503, array[turned]),
      array_fill(0, array[turned]), 1);
  end if;

  with inserted as (
    insert into request_log as l (
      requested_at, organization_no, caller_no, credits, latency_ms, status, path_no, admitted, settlement_id,
      request_id, method, asked)
    select timestamptz 'epoch' + r.at_ms * interval '1 millisecond', r.organization_no, r.caller_no, 0, r.latency_ms,
      503, r.path_no, r.admitted <> 0, r.settlement_id, r.request_id, r.method, r.asked
    from unnest(
      v_organizations, p_requested_at_ms, p_settlements, p_requests, v_callers, p_methods, v_paths, p_asked,
      p_latencies_ms, p_admitted)
      r (organization_no, at_ms, settlement_id, request_id, caller_no, method, path_no, asked, latency_ms, admitted)
    on conflict do nothing
    returning l.organization_no, (extract(epoch from l.requested_at) * 1000)::bigint as at_ms, l.caller_no, l.path_no
  )
  select count(*), array_agg(i.organization_no), array_agg(i.at_ms), array_agg(i.caller_no), array_agg(i.path_no)
  into left_behind, v_counted_organizations, v_requested_at_ms, v_counted_callers, v_counted_paths
  from inserted i;

  if left_behind > 0 then
    perform request_rollup_add(
      v_counted_organizations, v_requested_at_ms, v_counted_callers, v_counted_paths,
      array_fill(503, array[left_behind]), array_fill(0, array[left_behind]), 1);
  end if;
  return next;
end
$$;

-- Ends requests whose settlement has an unknown outcome: refunds what was charged and sets the row to 503; if there is
-- no row, inserts one, so that a settlement that arrives later finds its place taken. Idempotent. Paths as for
-- gate_settle. Returns how many rows were turned to 503, how many were inserted, and the credits refunded.
create or replace function gate_void(
  p_organizations text[], p_requested_at_ms bigint[], p_settlements text[], p_requests text[], p_keys text[],
  p_methods text[], p_paths text[], p_asked text[], p_latencies_ms integer[], p_admitted integer[]
) returns table (turned integer, left_behind integer, refunded bigint) language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_mergejoin = off set jit = off as $$
declare
  v_organizations text[];
  v_requested_at_ms bigint[];
  v_keys text[];
  v_paths text[];
  v_statuses integer[];
  v_credits integer[];
begin
  perform from credit_balance b where b.organization_id = any (p_organizations)
  order by b.organization_id collate "C" for no key update;

  -- Rows that were written, as they were before.
  with found as (
    select l.organization_id, l.requested_at, l.settlement_id, r.at_ms, l.api_key_id,
      case when l.routed then l.path else '' end as path, l.status, l.credits
    from unnest(p_organizations, p_requested_at_ms, p_settlements) r (organization_id, at_ms, settlement_id)
    join request_log l on l.organization_id = any (array[r.organization_id])
      and l.requested_at = timestamptz 'epoch' + r.at_ms * interval '1 millisecond'
      and l.settlement_id = r.settlement_id
    where l.status <> 503
  ),
  turned as (
    update request_log l set status = 503, credits = 0
    from found f
    where l.organization_id = any (array[f.organization_id]) and l.requested_at = f.requested_at
      and l.settlement_id = f.settlement_id
    returning f.organization_id, f.at_ms, f.api_key_id, f.path, f.status, f.credits::integer
  )
  select count(*), coalesce(sum(t.credits), 0), array_agg(t.organization_id), array_agg(t.at_ms),
    array_agg(t.api_key_id), array_agg(t.path), array_agg(t.status), array_agg(t.credits)
  into turned, refunded, v_organizations, v_requested_at_ms, v_keys, v_paths, v_statuses, v_credits
  from turned t;

  if turned > 0 then
    update credit_balance b set balance = b.balance + o.credits
    from (
      select t.organization_id, sum(t.credits) as credits
      from unnest(v_organizations, v_credits) t (organization_id, credits)
      group by t.organization_id
    ) o
    where b.organization_id = any (array[o.organization_id]) and o.credits > 0;
    perform request_rollup_add(v_organizations, v_requested_at_ms, v_keys, v_paths, v_statuses, v_credits, -1);
    perform request_rollup_add(
      v_organizations, v_requested_at_ms, v_keys, v_paths, array_fill(503, array[turned]), array_fill(0, array[turned]), 1);
  end if;

  with inserted as (
    insert into request_log as l (
      organization_id, requested_at, settlement_id, request_id, api_key_id, method, path, routed, status, latency_ms,
      credits, admitted)
    select r.organization_id, timestamptz 'epoch' + r.at_ms * interval '1 millisecond', r.settlement_id,
      r.request_id, r.api_key_id, r.method, case when r.asked = '' then r.path else r.asked end, r.asked = '', 503,
      r.latency_ms, 0, r.admitted <> 0
    from unnest(
      p_organizations, p_requested_at_ms, p_settlements, p_requests, p_keys, p_methods, p_paths, p_asked,
      p_latencies_ms, p_admitted)
      r (organization_id, at_ms, settlement_id, request_id, api_key_id, method, path, asked, latency_ms, admitted)
    on conflict do nothing
    returning l.organization_id, (extract(epoch from l.requested_at) * 1000)::bigint as at_ms, l.api_key_id,
      case when l.routed then l.path else '' end as path
  )
  select count(*), array_agg(i.organization_id), array_agg(i.at_ms), array_agg(i.api_key_id), array_agg(i.path)
  into left_behind, v_organizations, v_requested_at_ms, v_keys, v_paths
  from inserted i;

  if left_behind > 0 then
    perform request_rollup_add(
      v_organizations, v_requested_at_ms, v_keys, v_paths, array_fill(503, array[left_behind]),
      array_fill(0, array[left_behind]), 1);
  end if;
  return next;
end
$$;

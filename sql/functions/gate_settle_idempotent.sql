-- Charges and logs requests as gate_settle does, and stores their answers under their idempotency keys, all or nothing.
-- Raises WS409 and does nothing if a request no longer has its key. p_bodies has '' for an answer that is too large to
-- be stored, and p_bytes the size of the record. A request that cannot be paid releases its key.
-- lane gate
create or replace function gate_settle_idempotent(
  p_headers text[], p_bodies text[], p_bytes integer[],
  p_hour bigint, p_lock integer, p_payers text[], p_dues bigint[],
  p_organizations text[], p_keys text[], p_paths text[], p_statuses integer[], p_requests integer[], p_sums bigint[],
  p_limit_groups integer[], p_limit_scopes text[], p_limit_daily integer[], p_limit_mosts bigint[],
  p_groups integer[], p_requested_at_ms bigint[], p_settlements text[], p_request_ids text[], p_methods text[],
  p_asked text[], p_latencies_ms integer[], p_credits integer[], p_admitted integer[]
) returns table (organization_ids text[], balances bigint[], unpaid integer[], scopes text[])
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_mergejoin = off set jit = off as $$
#variable_conflict use_column
declare
  v_count bigint;
begin
  update idempotency_record r
  set answered_at = clock_timestamp(), headers = k.headers, body = nullif(k.body, ''), bytes = k.bytes
  from unnest(p_settlements, p_headers, p_bodies, p_bytes) k (settlement_id, headers, body, bytes)
  where r.settlement_id = any (array[k.settlement_id]) and r.answered_at is null;
  get diagnostics v_count = row_count;
  if v_count < cardinality(p_settlements) then
    raise exception 'Cannot charge a request: it no longer has its idempotency key' using errcode = 'WS409';
  end if;

  select g.organization_ids, g.balances, g.unpaid, g.scopes
  into organization_ids, balances, unpaid, scopes
  from gate_settle(
    p_hour, p_lock, p_payers, p_dues, p_organizations, p_keys, p_paths, p_statuses, p_requests, p_sums, p_limit_groups,
    p_limit_scopes, p_limit_daily, p_limit_mosts, p_groups, p_requested_at_ms, p_settlements, p_request_ids, p_methods,
    p_asked, p_latencies_ms, p_credits, p_admitted) g;

  delete from idempotency_record r
  where r.settlement_id = any (array(select p_settlements[u.no] from unnest(unpaid) u (no)));
  -- Only the holder of the balances' locks, taken by now, changes these rows.
  insert into idempotency_use as u (organization_id, bytes)
  select p_organizations[k.group_no], sum(k.bytes)
  from unnest(p_groups, p_bytes) with ordinality k (group_no, bytes, no)
  where k.no <> all (unpaid)
  group by 1
  on conflict (organization_id) do update set bytes = u.bytes + excluded.bytes;
  return next;
end
$$;

-- Charges and logs requests as gate_settle_batch does, and stores their answers under their idempotency keys, all or
-- nothing. p_answer_*: the answer of each request; the body is '' for an answer that is too large to be stored, and the
-- bytes are the size of the record. The other parameters and results are those of gate_settle_batch. Raises WS409 and
-- does nothing if a request no longer has its key. A request that cannot be paid releases its key.
--
-- Locks: the records of these requests, then those of gate_settle_batch in its order.
-- lane gate
create or replace function gate_settle_batch_idempotent(
  p_answer_headers text[], p_answer_bodies text[], p_answer_bytes integer[],
  p_hour bigint, p_lock integer,
  p_charge_organizations text[], p_charge_credits bigint[],
  p_group_charges integer[], p_group_keys text[], p_group_paths text[], p_group_statuses integer[],
  p_group_requests integer[], p_group_credits bigint[],
  p_limit_groups integer[], p_limit_scopes text[], p_limit_daily integer[], p_limit_maxima bigint[],
  p_request_groups integer[], p_request_at_ms bigint[], p_request_settlements text[], p_request_ids text[],
  p_request_methods text[], p_request_unrouted_paths text[], p_request_latencies_ms integer[],
  p_request_credits integer[], p_request_admitted integer[]
) returns table (balances bigint[], unpaid_requests integer[], unpaid_scopes text[])
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_mergejoin = off set jit = off as $$
#variable_conflict use_column
declare
  v_count bigint;
begin
  update idempotency_record r
  set answered_at = clock_timestamp(), headers = a.headers, body = nullif(a.body, ''), bytes = a.bytes
  from unnest(p_request_settlements, p_answer_headers, p_answer_bodies, p_answer_bytes)
    a (settlement_id, headers, body, bytes)
  where r.settlement_id = any (array[a.settlement_id]) and r.answered_at is null;
  get diagnostics v_count = row_count;
  if v_count < cardinality(p_request_settlements) then
    raise exception 'Cannot charge a request: it no longer has its idempotency key' using errcode = 'WS409';
  end if;

  select s.balances, s.unpaid_requests, s.unpaid_scopes
  into balances, unpaid_requests, unpaid_scopes
  from gate_settle_batch(
    p_hour, p_lock,
    p_charge_organizations, p_charge_credits,
    p_group_charges, p_group_keys, p_group_paths, p_group_statuses, p_group_requests, p_group_credits,
    p_limit_groups, p_limit_scopes, p_limit_daily, p_limit_maxima,
    p_request_groups, p_request_at_ms, p_request_settlements, p_request_ids, p_request_methods,
    p_request_unrouted_paths, p_request_latencies_ms, p_request_credits, p_request_admitted) s;

  delete from idempotency_record r
  where r.settlement_id = any (array(select p_request_settlements[u.no] from unnest(unpaid_requests) u (no)));
  -- Only the holder of the balances' locks, taken by now, changes these rows.
  insert into idempotency_use as u (organization_id, bytes)
  select p_charge_organizations[p_group_charges[k.group_no]], sum(k.bytes)
  from unnest(p_request_groups, p_answer_bytes) with ordinality k (group_no, bytes, no)
  where k.no <> all (unpaid_requests)
  group by 1
  -- The order in which idempotency_forget locks them.
  order by p_charge_organizations[p_group_charges[k.group_no]] collate "C"
  on conflict (organization_id) do update set bytes = u.bytes + excluded.bytes;
  return next;
end
$$;

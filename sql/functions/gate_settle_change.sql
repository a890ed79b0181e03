-- Charges and logs one request as gate_settle_batch does, makes its change (change_apply), and keeps its result for
-- repetitions, all or nothing: a request that is refused, or cannot be paid, changes nothing. p_record_bytes: the size
-- of the record of its idempotency key without the result, 0 for a request without a key. Raises WS409 if it no longer
-- has its key, WS422 if the change cannot be made. A request that cannot be paid releases its key.
--
-- A kept result has no headers, unlike a kept answer: what it says is presented anew at each repetition, so that no
-- secret is stored. `result` and the kept body: {"request_id": …, "result": …}; '' for a request that was not paid.
--
-- Locks: the record, what others lock before balances (states of triggers, messages that are due again), then those of
-- gate_settle_batch in its order, then those of the change. `read`, because a lock that it waits for must not take a
-- connection from the gate.
-- lane read
create or replace function gate_settle_change(
  p_kind text, p_details text, p_record_bytes integer,
  p_hour bigint, p_lock integer,
  p_charge_organizations text[], p_charge_credits bigint[],
  p_group_charges integer[], p_group_keys text[], p_group_paths text[], p_group_statuses integer[],
  p_group_requests integer[], p_group_credits bigint[],
  p_limit_groups integer[], p_limit_scopes text[], p_limit_daily integer[], p_limit_maxima bigint[],
  p_request_groups integer[], p_request_at_ms bigint[], p_request_settlements text[], p_request_ids text[],
  p_request_methods text[], p_request_unrouted_paths text[], p_request_latencies_ms integer[],
  p_request_credits integer[], p_request_admitted integer[]
) returns table (balances bigint[], unpaid_requests integer[], unpaid_scopes text[], result text)
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_mergejoin = off set jit = off as $$
#variable_conflict use_column
declare
  v_organization text := p_charge_organizations[1];
  v_settlement text := p_request_settlements[1];
  v_changed text;
begin
  result := '';
  if p_record_bytes > 0 then
    perform from idempotency_record r
    where r.settlement_id = any (array[v_settlement]) and r.answered_at is null for update;
    if not found then
      raise exception 'Cannot charge a request: it no longer has its idempotency key' using errcode = 'WS409';
    end if;
  end if;
  perform from watch_state s
  where s.organization_id = any (array[v_organization]) and s.id = any (array[p_details::jsonb ->> 'id']) for update;
  -- Many rows: made before its charge, so that the balance is not locked meanwhile. It costs nothing.
  if p_kind = 'webhook_redeliver' then
    v_changed := change_apply(p_kind, v_organization, p_details);
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
  if cardinality(unpaid_requests) > 0 then
    if v_changed is not null then
      raise exception 'Cannot charge for a change that is made before its charge: %', p_kind;
    end if;
    delete from idempotency_record r where r.settlement_id = any (array[v_settlement]);
    return next;
    return;
  end if;

  v_changed := coalesce(v_changed, change_apply(p_kind, v_organization, p_details));
  result := jsonb_build_object(
    'request_id', coalesce(nullif(p_request_ids[1], ''), 'req_' || v_settlement), 'result', v_changed::jsonb);
  if p_record_bytes > 0 then
    update idempotency_record r
    set answered_at = clock_timestamp(), headers = null, body = result, bytes = p_record_bytes + length(result)
    where r.settlement_id = any (array[v_settlement]);
    -- Only the holder of the balance's lock changes this row.
    insert into idempotency_use as u (organization_id, bytes)
    values (v_organization, p_record_bytes + length(result))
    on conflict (organization_id) do update set bytes = u.bytes + excluded.bytes;
  end if;
  return next;
end
$$;

-- Ends one request with a change whose settlement has an unknown outcome. If it was committed, it stays: the change, its
-- charge and the kept result, which a repetition with the same key is given. Others may have acted on the change by now,
-- a message may be posted, so that undoing it would be one more change, unasked. If it was not committed,
-- gate_void_batch ends it, so that it cannot be made any more. Parameters are those of gate_void_batch, with one request.
-- Returns whether it stays. Idempotent.
--
-- Locks: the record of the idempotency key, then the balance, as gate_settle_change does: it has ended by then, or finds
-- the row of the void.
-- lane background
create or replace function gate_void_change(
  p_request_organizations text[], p_request_keys text[], p_request_paths text[],
  p_request_at_ms bigint[], p_request_settlements text[], p_request_ids text[], p_request_methods text[],
  p_request_unrouted_paths text[], p_request_latencies_ms integer[], p_request_admitted integer[],
  p_limit_requests integer[], p_limit_scopes text[], p_limit_daily integer[]
) returns boolean language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_mergejoin = off set jit = off as $$
begin
  perform from idempotency_record r where r.settlement_id = any (p_request_settlements) for update;
  perform from spending_limit s
  where s.organization_id = any (p_request_organizations) and s.scope = '' and s.period = 0 for no key update;
  if exists (
    select from request_log l
    where l.organization_no = (
        select min(c.organization_no) from request_caller c where c.organization_id = p_request_organizations[1])
      and l.requested_at = timestamptz 'epoch' + p_request_at_ms[1] * interval '1 millisecond'
      and l.settlement_id = p_request_settlements[1]
  ) then
    return true;
  end if;
  perform gate_void_batch(
    p_request_organizations, p_request_keys, p_request_paths, p_request_at_ms, p_request_settlements, p_request_ids,
    p_request_methods, p_request_unrouted_paths, p_request_latencies_ms, p_request_admitted, p_limit_requests,
    p_limit_scopes, p_limit_daily);
  return false;
end
$$;

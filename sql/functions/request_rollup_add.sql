-- Counts requests in, or out again with p_sign -1. Whoever calls it holds the balances of the organizations.
create or replace function request_rollup_add(
  p_organizations text[], p_requested_at_ms bigint[], p_keys text[], p_paths text[], p_statuses integer[],
  p_credits integer[], p_sign integer
) returns void language plpgsql as $$
declare
  v_hour bigint;
  v_slot integer;
begin
  -- One hour at a time, nearly always the only one: an upsert may touch a row once.
  for v_hour in select distinct u.at_ms / 3600000 from unnest(p_requested_at_ms) u (at_ms) loop
    v_slot := v_hour % 24 + 1;
    insert into request_rollup as c (
      organization_id, day, api_key_id, path, status, requests, credits, by_hour)
    select r.organization_id, v_hour / 24, r.api_key_id, r.path, r.status, p_sign * count(*), p_sign * sum(r.credits),
      array_fill(0, array[v_slot - 1]) || (p_sign * count(*))::integer || array_fill(0, array[24 - v_slot])
    from unnest(p_organizations, p_requested_at_ms, p_keys, p_paths, p_statuses, p_credits)
      r (organization_id, at_ms, api_key_id, path, status, credits)
    where r.at_ms / 3600000 = v_hour
    group by r.organization_id, r.api_key_id, r.path, r.status
    on conflict (organization_id, day, api_key_id, path, status) do update
    set requests = c.requests + excluded.requests,
      credits = c.credits + excluded.credits,
      by_hour[v_slot] = c.by_hour[v_slot] + excluded.by_hour[v_slot];
  end loop;
end
$$;

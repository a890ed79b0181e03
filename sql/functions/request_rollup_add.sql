-- Adds requests to what the rollups count next, or subtracts them with p_sign -1.
create or replace function request_rollup_add(
  p_organizations text[], p_requested_at_ms bigint[], p_keys text[], p_paths text[], p_statuses integer[],
  p_credits integer[], p_sign integer
) returns void language sql as $$
  insert into request_rollup_pending (hour, organizations, keys, paths, statuses, requests, credits)
  select r.at_ms / 3600000, array_agg(r.organization_id), array_agg(r.api_key_id), array_agg(r.path),
    array_agg(r.status), array_agg(p_sign), array_agg(p_sign * r.credits::bigint)
  from unnest(p_organizations, p_requested_at_ms, p_keys, p_paths, p_statuses, p_credits)
    r (organization_id, at_ms, api_key_id, path, status, credits)
  group by r.at_ms / 3600000
$$;

-- Adds requests to the pending rollups, or subtracts them with p_sign -1.
create or replace function request_rollup_add(
  p_organizations integer[], p_requested_at_ms bigint[], p_callers integer[], p_paths integer[], p_statuses integer[],
  p_credits integer[], p_sign integer
) returns void language sql as $$
  insert into request_rollup_pending (hour, organizations, callers, paths, statuses, requests, credits)
  select r.at_ms / 3600000, array_agg(r.organization_no), array_agg(r.caller_no), array_agg(r.path_no),
    array_agg(r.status), array_agg(p_sign), array_agg(p_sign * r.credits::bigint)
  from unnest(p_organizations, p_requested_at_ms, p_callers, p_paths, p_statuses, p_credits)
    r (organization_no, at_ms, caller_no, path_no, status, credits)
  group by r.at_ms / 3600000
$$;

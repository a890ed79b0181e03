-- Reads records of valid keys and of organizations with jobs, and the switches, as of the change `epoch`; and the
-- organizations that changed after p_epoch. One row of arrays with an element for each key and
-- organization that was found, numbered in this order; networks and endpoints are lines, '' for all of them, and
-- credits_per_day is 0 for no limit.
-- lane gate
create or replace function gate_facts(p_epoch bigint, p_hashes text[], p_organizations text[])
returns table (
  epoch bigint, changed text[], endpoints_off text[], features_off text[], key_nos integer[],
  organization_ids text[], api_key_ids text[], refusals text[], rate_limits integer[], expire_at_ms bigint[],
  networks text[], endpoints text[], credits_per_day bigint[]
) language plpgsql stable
set enable_seqscan = off set enable_bitmapscan = off set enable_mergejoin = off
set enable_memoize = off set jit = off as $$
#variable_conflict use_column
declare
  v_epoch bigint := coalesce((select c.n from account_change c where c.organization_id = ''), 0);
begin
  return query
  select v_epoch, coalesce(account_changes_since(p_epoch, v_epoch), '{}'),
    array(select d.endpoint from endpoint_disabled d), array(select d.feature from feature_disabled d),
    coalesce(array_agg(f.no::integer), '{}'), coalesce(array_agg(f.organization_id), '{}'),
    coalesce(array_agg(f.api_key_id), '{}'), coalesce(array_agg(f.refusal), '{}'),
    coalesce(array_agg(f.rate_limit), '{}'), coalesce(array_agg(f.expires_at_ms), '{}'),
    coalesce(array_agg(f.networks), '{}'), coalesce(array_agg(f.endpoints), '{}'),
    coalesce(array_agg(f.credits_per_day), '{}')
  from (
    select k.no, o.id as organization_id, k.id as api_key_id,
      case
        when o.deleted_at is not null then 'ORGANIZATION_NOT_FOUND'
        when o.suspended_at is not null then 'ACCOUNT_SUSPENDED'
        else ''
      end as refusal,
      o.rate_limit, coalesce((extract(epoch from k.expires_at) * 1000)::bigint, 0) as expires_at_ms,
      coalesce(array_to_string(k.allowed_networks, E'\n'), '') as networks,
      coalesce(array_to_string(k.allowed_endpoints, E'\n'), '') as endpoints,
      coalesce(k.credits_per_day, 0) as credits_per_day
    from (
      select g.no, x.organization_id, x.id, x.expires_at, x.allowed_networks, x.allowed_endpoints, x.credits_per_day
      from unnest(p_hashes) with ordinality g (hash, no)
      cross join lateral (
        select y.* from api_key y
        where y.hash = decode(g.hash, 'hex')
          and y.revoked_at is null and (y.expires_at is null or y.expires_at > clock_timestamp())
        offset 0
      ) x
      union all
      select cardinality(p_hashes) + g.no, g.id, '', null, null, null, null
      from unnest(p_organizations) with ordinality g (id, no)
    ) k
    cross join lateral (select x.* from organization x where x.id = k.organization_id offset 0) o
  ) f;
end
$$;

-- Charges organizations for their triggers, one row of the log each, by gate_settle_batch. Arrays have an element per
-- row: organizations, keys, prices and settlement ids. Returns the numbers of the rows that could not be paid.
create or replace function trigger_charge(
  p_path text, p_at_ms bigint, p_organizations text[], p_keys text[], p_credits integer[], p_settlements text[]
) returns integer[] language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_mergejoin = off set jit = off as $$
declare
  -- Columns of gate_settle_batch.
  v_charge_organizations text[];
  v_charge_credits bigint[];
  v_group_charges integer[];
  v_group_keys text[];
  v_group_requests integer[];
  v_group_credits bigint[];
  v_limit_groups integer[];
  v_request_groups integer[];
  v_groups integer;
  v_limits integer;
  v_requests integer := cardinality(p_organizations);
  v_unpaid integer[];
begin
  select array_agg(c.organization_id order by c.organization_id collate "C"),
    array_agg(c.credits order by c.organization_id collate "C")
  into v_charge_organizations, v_charge_credits
  from (
    select u.organization_id, sum(u.credits) as credits
    from unnest(p_organizations, p_credits) u (organization_id, credits) group by u.organization_id
  ) c;
  select array_agg(g.charge_no order by g.no), array_agg(g.key order by g.no), array_agg(g.requests order by g.no),
    array_agg(g.credits order by g.no), array_agg(g.no order by g.no) filter (where exists (
      select from api_key k
      where k.organization_id = g.organization_id and k.id = g.key and k.credits_per_day is not null))
  into v_group_charges, v_group_keys, v_group_requests, v_group_credits, v_limit_groups
  from (
    select u.organization_id, u.key, count(*)::integer as requests, sum(u.credits) as credits,
      (dense_rank() over (order by u.organization_id collate "C"))::integer as charge_no,
      (row_number() over (order by u.organization_id collate "C", u.key collate "C"))::integer as no
    from unnest(p_organizations, p_keys, p_credits) u (organization_id, key, credits)
    group by u.organization_id, u.key
  ) g;
  select array_agg(n.group_no order by n.no) into v_request_groups
  from (
    select u.no, (dense_rank() over (order by u.organization_id collate "C", u.key collate "C"))::integer as group_no
    from unnest(p_organizations, p_keys) with ordinality u (organization_id, key, no)
  ) n;
  v_limit_groups := coalesce(v_limit_groups, '{}');
  v_groups := cardinality(v_group_keys);
  v_limits := cardinality(v_limit_groups);
  select s.unpaid_requests into v_unpaid
  from gate_settle_batch(
    p_at_ms / 3600000, 1,
    v_charge_organizations, v_charge_credits,
    v_group_charges, v_group_keys, array_fill(p_path, array[v_groups]), array_fill(200, array[v_groups]),
    v_group_requests, v_group_credits,
    -- Triggers count towards a key's daily limit, but only an empty balance stops them.
    v_limit_groups,
    (select coalesce(array_agg(v_group_keys[l.no] order by l.at), '{}')
      from unnest(v_limit_groups) with ordinality l (no, at)),
    array_fill(1, array[v_limits]), array_fill(9223372036854775807, array[v_limits]),
    v_request_groups, array_fill(p_at_ms, array[v_requests]), p_settlements, array_fill(''::text, array[v_requests]),
    array_fill('POST'::text, array[v_requests]), array_fill(''::text, array[v_requests]),
    array_fill(0, array[v_requests]), p_credits, array_fill(0, array[v_requests])) s;
  return v_unpaid;
end
$$;

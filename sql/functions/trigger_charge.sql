-- Charges organizations for their triggers, one row of the log each, by gate_settle. Arrays have an element per row:
-- organizations, keys, prices and settlement ids. Returns the numbers of the rows that could not be paid.
create or replace function trigger_charge(
  p_path text, p_at_ms bigint, p_organizations text[], p_keys text[], p_credits integer[], p_settlements text[]
) returns integer[] language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_mergejoin = off set jit = off as $$
declare
  v_payers text[];
  v_dues bigint[];
  v_organizations text[];
  v_keys text[];
  v_requests integer[];
  v_sums bigint[];
  v_limited integer[];
  v_groups integer[];
  v_rows integer := cardinality(p_organizations);
  v_unpaid integer[];
begin
  select array_agg(p.organization_id order by p.organization_id collate "C"),
    array_agg(p.due order by p.organization_id collate "C")
  into v_payers, v_dues
  from (
    select u.organization_id, sum(u.credits) as due
    from unnest(p_organizations, p_credits) u (organization_id, credits) group by u.organization_id
  ) p;
  select array_agg(g.organization_id order by g.no), array_agg(g.key order by g.no), array_agg(g.requests order by g.no),
    array_agg(g.due order by g.no), array_agg(g.no order by g.no) filter (where exists (
      select from api_key k
      where k.organization_id = g.organization_id and k.id = g.key and k.credits_per_day is not null))
  into v_organizations, v_keys, v_requests, v_sums, v_limited
  from (
    select u.organization_id, u.key, count(*)::integer as requests, sum(u.credits) as due,
      (row_number() over (order by u.organization_id collate "C", u.key collate "C"))::integer as no
    from unnest(p_organizations, p_keys, p_credits) u (organization_id, key, credits)
    group by u.organization_id, u.key
  ) g;
  select array_agg(n.group_no order by n.no) into v_groups
  from (
    select u.no, (dense_rank() over (order by u.organization_id collate "C", u.key collate "C"))::integer as group_no
    from unnest(p_organizations, p_keys) with ordinality u (organization_id, key, no)
  ) n;
  v_limited := coalesce(v_limited, '{}');
  select s.unpaid into v_unpaid
  from gate_settle(
    p_at_ms / 3600000, 1, v_payers, v_dues, v_organizations, v_keys,
    array_fill(p_path, array[cardinality(v_keys)]), array_fill(200, array[cardinality(v_keys)]), v_requests, v_sums,
    -- Triggers count towards a key's daily limit, but only an empty balance stops them.
    v_limited,
    (select coalesce(array_agg(v_keys[l.no] order by l.at), '{}') from unnest(v_limited) with ordinality l (no, at)),
    array_fill(1, array[cardinality(v_limited)]), array_fill(9223372036854775807, array[cardinality(v_limited)]),
    v_groups, array_fill(p_at_ms, array[v_rows]), p_settlements, array_fill(''::text, array[v_rows]),
    array_fill('POST'::text, array[v_rows]), array_fill(''::text, array[v_rows]), array_fill(0, array[v_rows]),
    p_credits, array_fill(0, array[v_rows])) s;
  return v_unpaid;
end
$$;

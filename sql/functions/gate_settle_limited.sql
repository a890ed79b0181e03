-- The same as gate_settle, for a batch with keys that may spend only so much a day. p_limits has, for each combination,
-- what its key may spend in one day (UTC), 0 for no limit. Requests for which too little of that is left become 402 and
-- cost nothing; a row with row_no below zero stands for each.
create or replace function gate_settle_limited(
  p_hour bigint, p_payers text[], p_dues bigint[],
  p_organizations text[], p_keys text[], p_paths text[], p_statuses integer[], p_requests integer[], p_sums bigint[],
  p_groups integer[], p_requested_at_ms bigint[], p_settlements text[], p_request_ids text[], p_methods text[],
  p_asked text[], p_latencies_ms integer[], p_credits integer[], p_admitted integer[], p_limits bigint[]
) returns table (row_no integer, organization_id text, balance bigint)
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_mergejoin = off set jit = off as $$
#variable_conflict use_column
declare
  v_day integer := p_hour / 24;
  -- Per payer: what is left of its balance.
  v_left bigint[];
  -- Per combination: its payer; the first combination of the same key, if that has a limit, by which v_room holds what
  -- the key may still spend and v_spent what it spends here; and the first one of the same key and path, by which
  -- v_unpaid holds the number of their combination with status 402.
  v_payers integer[];
  v_firsts integer[];
  v_room bigint[];
  v_spent bigint[];
  v_kins integer[];
  v_unpaid integer[];
  v_group integer;
  v_payer integer;
  v_first integer;
  v_kin integer;
begin
  -- In the order in which gate_settle takes its locks. Whoever holds a balance alone changes its keys' days.
  perform from request_log_numbers(p_organizations, p_keys, p_paths);
  perform from credit_balance b where b.organization_id = any (p_organizations)
  order by b.organization_id collate "C" for no key update;

  -- Read in statements that begin after the last lock.
  select array_agg(coalesce(b.balance, 0) order by p.no)
  into v_left
  from unnest(p_payers) with ordinality p (organization_id, no)
  left join lateral (
    select x.balance from credit_balance x where x.organization_id = p.organization_id offset 0
  ) b on true;
  select array_agg(g.payer order by g.no), array_agg(g.first order by g.no), array_agg(g.room order by g.no),
    array_agg(0::bigint), array_agg(g.kin order by g.no), array_agg(g.unpaid order by g.no)
  into v_payers, v_firsts, v_room, v_spent, v_kins, v_unpaid
  from (
    select u.no, p.no as payer, u.most - coalesce(d.credits, 0) as room,
      case when u.most > 0 then min(u.no) over (partition by u.organization_id, u.key) end as first,
      min(u.no) over kins as kin, max(u.no) filter (where u.status = 402) over kins as unpaid
    from unnest(p_organizations, p_keys, p_paths, p_statuses, p_limits) with ordinality
      u (organization_id, key, path, status, most, no)
    left join unnest(p_payers) with ordinality p (organization_id, no) on p.organization_id = u.organization_id
    left join lateral (
      select x.credits from api_key_day x
      where x.organization_id = u.organization_id and x.api_key_id = u.key and x.day = v_day and u.most > 0
      offset 0
    ) d on true
    window kins as (partition by u.organization_id, u.key, u.path)
  ) g;

  -- First come, first served, each in full or not at all. What the balance cannot pay is left to gate_settle, which
  -- decides in the same order.
  for v_no in 1 .. cardinality(p_credits) loop
    v_group := p_groups[v_no];
    v_payer := v_payers[v_group];
    v_first := v_firsts[v_group];
    continue when p_credits[v_no] = 0 or p_credits[v_no] > v_left[v_payer];
    if p_credits[v_no] <= v_room[v_first] or v_first is null then
      v_left[v_payer] := v_left[v_payer] - p_credits[v_no];
      if v_first is not null then
        v_room[v_first] := v_room[v_first] - p_credits[v_no];
        v_spent[v_first] := v_spent[v_first] + p_credits[v_no];
      end if;
      continue;
    end if;
    v_kin := v_kins[v_group];
    if v_unpaid[v_kin] is null then
      p_organizations := p_organizations || p_organizations[v_group];
      p_keys := p_keys || p_keys[v_group];
      p_paths := p_paths || p_paths[v_group];
      p_statuses := p_statuses || 402;
      p_requests := p_requests || 0;
      p_sums := p_sums || 0::bigint;
      v_unpaid[v_kin] := cardinality(p_statuses);
    end if;
    p_dues[v_payer] := p_dues[v_payer] - p_credits[v_no];
    p_requests[v_group] := p_requests[v_group] - 1;
    p_sums[v_group] := p_sums[v_group] - p_credits[v_no];
    p_requests[v_unpaid[v_kin]] := p_requests[v_unpaid[v_kin]] + 1;
    p_groups[v_no] := v_unpaid[v_kin];
    p_credits[v_no] := 0;
    row_no := -v_no;
    return next;
  end loop;

  insert into api_key_day as d (organization_id, api_key_id, day, credits)
  select p_organizations[s.no], p_keys[s.no], v_day, s.credits
  from unnest(v_spent) with ordinality s (credits, no)
  where s.credits > 0
  on conflict (organization_id, api_key_id, day) do update set credits = d.credits + excluded.credits;
  -- Yesterday's is kept for requests that were admitted before midnight.
  delete from api_key_day d
  using unnest(p_organizations, p_keys, p_limits) k (organization_id, api_key_id, most)
  where k.most > 0 and d.organization_id = any (array[k.organization_id]) and d.api_key_id = any (array[k.api_key_id])
    and d.day + 0 < v_day - 1;

  return query
  select s.row_no, s.organization_id, s.balance
  from gate_settle(
    p_hour, 1, p_payers, p_dues, p_organizations, p_keys, p_paths, p_statuses, p_requests, p_sums, p_groups,
    p_requested_at_ms, p_settlements, p_request_ids, p_methods, p_asked, p_latencies_ms, p_credits, p_admitted) s;
end
$$;

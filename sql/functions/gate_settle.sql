-- Charges and logs the requests of one batch, durably, in order of arrival and all of one hour. Parameters:
-- * p_payers, p_dues: payers and their dues for the batch, in byte order of their ids. p_lock must be 1 if an
--   organization pays nothing or may lack credits, and if there are other limits; if it is 0 and one lacks credits,
--   WS402 is raised and nothing is done.
-- * p_organizations to p_sums: each combination of organization, key, path (as in the rollups), status and limits once,
--   with the number of its requests and their credits.
-- * p_limit_groups to p_limit_mosts: limits besides the balance, and the number of the combination that they bind:
--   p_limit_daily is 1 for a limit of one day (UTC), 0 for one that does not end. One that has no row yet gets it.
-- * p_groups to p_admitted: the requests. p_groups is the number of the combination; p_request_ids has '' for `req_`
--   and the settlement's id; p_asked has the path that was asked for if it has no endpoint, otherwise ''.
-- * p_organization_nos to p_path_nos: the log's numbers of each combination, as the tables gave them that p_numbering
--   names. If the tables are others, as after a failover or a restore, the numbers are looked up.
-- A request that one of its limits cannot pay becomes 402 and is charged to none. Returns the organizations and their
-- balances afterwards, the numbers of the requests that could not be paid with the scope of the limit that refused,
-- what names the tables, and the log's numbers if they were looked up. If a request is in the log already, the whole
-- statement fails with unique_violation.
-- lane gate
create or replace function gate_settle(
  p_hour bigint, p_lock integer, p_payers text[], p_dues bigint[],
  p_organizations text[], p_keys text[], p_paths text[], p_statuses integer[], p_requests integer[], p_sums bigint[],
  p_limit_groups integer[], p_limit_scopes text[], p_limit_daily integer[], p_limit_mosts bigint[],
  p_groups integer[], p_requested_at_ms bigint[], p_settlements text[], p_request_ids text[], p_methods text[],
  p_asked text[], p_latencies_ms integer[], p_credits integer[], p_admitted integer[],
  p_numbering text default '', p_organization_nos integer[] default '{}', p_caller_nos integer[] default '{}',
  p_path_nos integer[] default '{}'
) returns table (
  organization_ids text[], balances bigint[], unpaid integer[], scopes text[],
  numbering text, organization_nos integer[], caller_nos integer[], path_nos integer[]
)
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_mergejoin = off set jit = off as $$
#variable_conflict use_column
declare
  v_day integer := p_hour / 24;
  -- Locked organizations, their balances before any charge, and their numbers as payers.
  v_locked text[];
  v_balances bigint[];
  v_locked_payers integer[];
  -- Per combination: its payer, the balance of that, and whether a limit of its organization may refuse requests.
  v_payers integer[];
  v_rests bigint[];
  v_contested boolean[];
  -- A row for each contested combination and each limit that binds it: the limit's number, which for a balance is that of
  -- its payer, and what is left of it.
  v_bound integer[];
  v_limits integer[];
  v_left bigint[];
  v_owners text[];
  v_scopes text[];
  v_periods integer[];
  -- Per combination: the first and the last of these rows; and the first combination of the same organization, key and
  -- path, by which v_unpaid holds the number of their combination with status 402.
  v_first integer[];
  v_last integer[];
  v_kins integer[];
  v_unpaid integer[];
  -- Per limit what is charged to it.
  v_due bigint[];
  v_group integer;
  v_kin integer;
  v_short integer;
  -- Numbers of each combination's organization, caller and path.
  v_organizations integer[];
  v_callers integer[];
  v_paths integer[];
begin
  unpaid := '{}';
  scopes := '{}';
  -- Another server, another database and a refilled table have another name.
  numbering := pg_postmaster_start_time() || ' ' || pg_relation_filepath('request_caller');
  organization_nos := '{}';
  caller_nos := '{}';
  path_nos := '{}';
  if p_numbering = numbering then
    v_organizations := p_organization_nos;
    v_callers := p_caller_nos;
    v_paths := p_path_nos;
  else
    select n.organizations, n.callers, n.paths into v_organizations, v_callers, v_paths
    from request_log_numbers(p_organizations, p_keys, p_paths) n;
    organization_nos := v_organizations;
    caller_nos := v_callers;
    path_nos := v_paths;
  end if;

  if p_lock = 1 then
    -- Balances are locked in one order, which prevents deadlocks. If all can pay, charging locks them in that order.
    -- Only the holder of a balance's lock changes the organization's other limits.
    select coalesce(array_agg(l.organization_id), '{}'), coalesce(array_agg(l.balance), '{}')
    into v_locked, v_balances
    from (
      select s.organization_id, s.most - s.spent as balance
      from spending_limit s
      where s.organization_id = any (p_organizations) and s.scope = '' and s.period = 0
      order by s.organization_id collate "C" for no key update
    ) l;

    -- Brought together by a window, because a join of arrays may compare each element with each.
    select array_agg(x.payer order by x.no) filter (where x.is_group), array_agg(x.rest order by x.no) filter (where x.is_group),
      array_agg(x.rest < x.due or x.is_bound order by x.no) filter (where x.is_group),
      array_agg(x.payer order by x.no) filter (where x.is_locked)
    into v_payers, v_rests, v_contested, v_locked_payers
    from (
      select a.no, a.is_group, a.is_locked, max(a.payer) over o as payer, coalesce(max(a.balance) over o, 0) as rest,
        coalesce(max(a.due) over o, 0) as due, bool_or(a.is_bound) over o as is_bound
      from (
        select g.organization_id, g.no, true as is_group, false as is_locked, null::bigint as payer, null::bigint as due,
          null::bigint as balance, g.no = any (p_limit_groups) as is_bound
        from unnest(p_organizations) with ordinality g (organization_id, no)
        union all
        select d.organization_id, d.no, false, false, d.no, d.credits, null, false
        from unnest(p_payers, p_dues) with ordinality d (organization_id, credits, no)
        union all
        select l.organization_id, l.no, false, true, null, null, l.balance, false
        from unnest(v_locked, v_balances) with ordinality l (organization_id, balance, no)
      ) a
      window o as (partition by a.organization_id)
    ) x;
  end if;

  -- First come, first served, each in full and from all of its limits, or from none.
  if true = any (v_contested) then
    select array_agg(l.group_no order by l.group_no, l.no), array_agg(l.limit_no order by l.group_no, l.no),
      array_agg(l.rest order by l.group_no, l.no), array_agg(l.organization_id order by l.group_no, l.no),
      array_agg(l.scope order by l.group_no, l.no), array_agg(l.period order by l.group_no, l.no)
    into v_bound, v_limits, v_left, v_owners, v_scopes, v_periods
    from (
      select g.no as group_no, 0 as no, g.payer as limit_no, g.rest, g.organization_id, '' as scope, 0 as period
      from unnest(p_organizations, p_sums, v_payers, v_rests, v_contested) with ordinality
        g (organization_id, credits, payer, rest, is_contested, no)
      where g.credits > 0 and g.is_contested
      union all
      select u.group_no, u.no,
        cardinality(p_payers) + dense_rank() over (order by u.organization_id, u.scope, u.period),
        u.most - coalesce(s.spent, 0), u.organization_id, u.scope, u.period
      from (
        select x.group_no, x.no, p_organizations[x.group_no] as organization_id, x.scope, x.daily * v_day as period, x.most
        from unnest(p_limit_groups, p_limit_scopes, p_limit_daily, p_limit_mosts) with ordinality
          x (group_no, scope, daily, most, no)
      ) u
      -- In a statement that begins after the last lock.
      left join lateral (
        select x.spent from spending_limit x
        where x.organization_id = u.organization_id and x.scope = u.scope and x.period = u.period
        offset 0
      ) s on true
    ) l;
    select array_agg(g.kin order by g.no), array_agg(g.unpaid order by g.no)
    into v_kins, v_unpaid
    from (
      select u.no, min(u.no) over kins as kin, max(u.no) filter (where u.status = 402) over kins as unpaid
      from unnest(p_organizations, p_keys, p_paths, p_statuses) with ordinality u (organization_id, key, path, status, no)
      window kins as (partition by u.organization_id, u.key, u.path)
    ) g;
    v_due := array_fill(0::bigint, array[cardinality(p_payers) + cardinality(p_limit_groups)]);
    v_first := array_fill(null::integer, array[cardinality(p_organizations)]);
    v_last := v_first;
    for v_no in 1 .. cardinality(v_bound) loop
      v_group := v_bound[v_no];
      v_first[v_group] := coalesce(v_first[v_group], v_no);
      v_last[v_group] := v_no;
    end loop;

    for v_no in 1 .. cardinality(p_credits) loop
      v_group := p_groups[v_no];
      continue when p_credits[v_no] = 0 or v_first[v_group] is null;
      v_short := null;
      for v_place in v_first[v_group] .. v_last[v_group] loop
        if v_due[v_limits[v_place]] + p_credits[v_no] > v_left[v_place] then
          v_short := v_place;
          exit;
        end if;
      end loop;
      if v_short is null then
        for v_place in v_first[v_group] .. v_last[v_group] loop
          v_due[v_limits[v_place]] := v_due[v_limits[v_place]] + p_credits[v_no];
        end loop;
        continue;
      end if;
      v_kin := v_kins[v_group];
      if v_unpaid[v_kin] is null then
        v_organizations := v_organizations || v_organizations[v_group];
        v_callers := v_callers || v_callers[v_group];
        v_paths := v_paths || v_paths[v_group];
        p_statuses := p_statuses || 402;
        p_requests := p_requests || 0;
        p_sums := p_sums || 0::bigint;
        v_unpaid[v_kin] := cardinality(p_statuses);
      end if;
      p_dues[v_payers[v_group]] := p_dues[v_payers[v_group]] - p_credits[v_no];
      p_requests[v_group] := p_requests[v_group] - 1;
      p_sums[v_group] := p_sums[v_group] - p_credits[v_no];
      p_requests[v_unpaid[v_kin]] := p_requests[v_unpaid[v_kin]] + 1;
      p_groups[v_no] := v_unpaid[v_kin];
      p_credits[v_no] := 0;
      unpaid := unpaid || v_no;
      scopes := scopes || v_scopes[v_short];
    end loop;

    insert into spending_limit as s (organization_id, scope, period, spent)
    select distinct l.organization_id, l.scope, l.period, v_due[l.limit_no]
    from unnest(v_limits, v_owners, v_scopes, v_periods) l (limit_no, organization_id, scope, period)
    where l.scope <> ''
    on conflict (organization_id, scope, period) do update set spent = s.spent + excluded.spent, spent_at = now();
  end if;

  with charged as (
    update spending_limit s set spent = s.spent + d.credits
    from (
      -- Kept apart: a constant scope could be looked up alone, by reading all of the index. A balance has one period.
      select u.organization_id, u.credits, '' as scope from unnest(p_payers, p_dues) u (organization_id, credits)
      where u.credits > 0
      offset 0
    ) d
    where s.organization_id = any (array[d.organization_id]) and s.scope = d.scope
      and s.spent + d.credits <= s.most
    returning s.organization_id, s.most - s.spent as balance
  )
  select coalesce(array_agg(c.organization_id), '{}'), coalesce(array_agg(c.balance), '{}')
  into organization_ids, balances
  from charged c;
  if p_lock = 0 and cardinality(organization_ids) < cardinality(p_payers) then
    -- Locking balances only now would break the order, so the caller calls again with p_lock.
    raise exception 'Cannot charge a batch: not all can pay' using errcode = 'WS402';
  end if;
  if p_lock = 1 then
    select coalesce(array_agg(l.organization_id), '{}'), coalesce(array_agg(l.balance - coalesce(p_dues[l.payer], 0)), '{}')
    into organization_ids, balances
    from unnest(v_locked, v_balances, v_locked_payers) l (organization_id, balance, payer);
  end if;

  insert into request_log (
    requested_at, organization_no, caller_no, credits, latency_ms, status, path_no, admitted, settlement_id, request_id,
    method, asked)
  select timestamptz 'epoch' + r.at_ms * interval '1 millisecond', v_organizations[r.group_no], v_callers[r.group_no],
    r.credits, r.latency_ms, p_statuses[r.group_no], v_paths[r.group_no], r.admitted <> 0, r.settlement_id, r.request_id,
    r.method, r.asked
  from (
    -- Unnested in the select list: after `from`, the columns would be materialized first.
    select unnest(p_groups) as group_no, unnest(p_requested_at_ms) as at_ms, unnest(p_settlements) as settlement_id,
      unnest(p_request_ids) as request_id, unnest(p_methods) as method, unnest(p_asked) as asked,
      unnest(p_latencies_ms) as latency_ms, unnest(p_credits) as credits, unnest(p_admitted) as admitted
  ) r;

  -- Counted into the rollups later: changing a row of each organization here would cost more than all other work.
  insert into request_rollup_pending (hour, organizations, callers, paths, statuses, requests, credits)
  values (p_hour, v_organizations, v_callers, v_paths, p_statuses, p_requests, p_sums);
  return next;
end
$$;

-- Charges and logs the requests of one batch, durably, in order of arrival and all of one hour. A request is charged in
-- full, or becomes 402 without a charge if its balance or another limit cannot pay. If a request is in the log already,
-- the whole statement fails with unique_violation.
--
-- Parameters are columns of tables; a number is a row's position in its table, from 1:
-- * p_charge_*: each organization of the batch once, in byte order of ids, with the credits of its requests together.
-- * p_group_*: each combination of organization (the number of its charge), key, path as in the rollups, status and
--   limits once, with the number of its requests and their credits.
-- * p_limit_*: each limit besides the balance, with the group that it binds: scope, 1 for a limit of the day (UTC) or 0
--   for one without an end, and the maximum. A limit without a row yet gets one.
-- * p_request_*: each request with its group, in order of arrival. Id: '' for `req_` and the settlement's id. Unrouted
--   path: the requested path if it has no endpoint, otherwise ''. Admitted: 0 or 1.
-- * p_log_*: the log's numbers of each group's organization, caller and path, as read from the tables that p_log_tables
--   identifies. If the database has other tables, as after a failover or a restore, it looks the numbers up.
-- p_lock must be 1 if a charge is 0 or may exceed its balance, or if there are limits. With 0, a charge above its
-- balance raises WS402 and nothing is done.
--
-- Returns the balance after each charge; the numbers of unpaid requests, each with the scope of the limit that refused
-- it, '' for the balance; the identity of the log's tables; and the log's numbers of each group if they were looked up.
--
-- Locks, in this order over all processes: names of the log without numbers (request_log_numbers), balances in byte
-- order of organizations, then the other limits of these organizations, which only the holder of the balance changes.
--
-- Example: org_a has 10 credits, org_b has 2. Each sends two requests, and org_b lacks a credit for its second.
--   charge   1: org_a, 6 credits                             2: org_b, 3 credits
--   group    1: charge 1, key_a, /v1/a, 200, 2 requests, 6   2: charge 2, key_b, /v1/a, 200, 2 requests, 3
--   request  1: group 1, 3   2: group 2, 2   3: group 1, 3   4: group 2, 1
-- With p_lock 0, charge 2 raises WS402. With p_lock 1, request 2 takes all that org_b has, so request 4 moves to a new
-- group 3 (key_b, /v1/a, 402, 1 request, 0 credits); group 2 keeps 1 request of 2 credits, and charge 2 falls to 2.
--   result   balances {4,0}, unpaid_requests {4}, unpaid_scopes {""}
-- lane gate
create or replace function gate_settle_batch(
  p_hour bigint, p_lock integer,
  p_charge_organizations text[], p_charge_credits bigint[],
  p_group_charges integer[], p_group_keys text[], p_group_paths text[], p_group_statuses integer[],
  p_group_requests integer[], p_group_credits bigint[],
  p_limit_groups integer[], p_limit_scopes text[], p_limit_daily integer[], p_limit_maxima bigint[],
  p_request_groups integer[], p_request_at_ms bigint[], p_request_settlements text[], p_request_ids text[],
  p_request_methods text[], p_request_unrouted_paths text[], p_request_latencies_ms integer[],
  p_request_credits integer[], p_request_admitted integer[],
  p_log_tables text default '', p_log_organizations integer[] default '{}', p_log_callers integer[] default '{}',
  p_log_paths integer[] default '{}'
) returns table (
  balances bigint[], unpaid_requests integer[], unpaid_scopes text[],
  log_tables text, log_organizations integer[], log_callers integer[], log_paths integer[]
)
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_mergejoin = off set jit = off as $$
#variable_conflict use_column
declare
  -- Balance before each charge.
  v_balances bigint[];
  -- Bounds, in order of groups: each limit that may refuse requests of a group, the balance first. A balance has the
  -- number of its charge, other limits have those that follow. What is left of a limit is as before any charge.
  v_bound_groups integer[];
  v_bound_limits integer[];
  v_bound_scopes text[];
  v_bound_periods integer[];
  v_bound_left bigint[];
  -- Per group: its first bound, null without one; and the group of its unpaid requests, null without one.
  v_first_bounds integer[];
  v_unpaid_groups integer[];
  -- Credits charged to each limit so far.
  v_limit_credits bigint[];
  v_group integer;
  v_bound integer;
begin
  -- 1. The log's numbers. Another server, another database and a refilled table have another identity.
  log_tables := pg_postmaster_start_time() || ' ' || pg_relation_filepath('request_caller');
  log_organizations := '{}';
  log_callers := '{}';
  log_paths := '{}';
  if p_log_tables <> log_tables then
    select n.organizations, n.callers, n.paths into log_organizations, log_callers, log_paths
    from request_log_numbers(
      array(select p_charge_organizations[g.charge_no] from unnest(p_group_charges) g (charge_no)),
      p_group_keys, p_group_paths) n;
    p_log_organizations := log_organizations;
    p_log_callers := log_callers;
    p_log_paths := log_paths;
  end if;

  -- 2. Balances, locked in one order, which prevents deadlocks. Without p_lock, charging locks them in that order.
  unpaid_requests := '{}';
  unpaid_scopes := '{}';
  if p_lock = 1 then
    select array_agg(coalesce(s.balance, 0) order by c.no)
    into v_balances
    from unnest(p_charge_organizations) with ordinality c (organization_id, no)
    left join lateral (
      select x.most - x.spent as balance from spending_limit x
      where x.organization_id = c.organization_id and x.scope = '' and x.period = 0
      for no key update
    ) s on true;
  end if;

  -- 3. Refusals: first come, first served, each request in full and from all of its limits, or from none.
  if p_lock = 1 and (cardinality(p_limit_groups) > 0 or exists (
    select from unnest(v_balances, p_charge_credits) c (balance, credits) where c.balance < c.credits))
  then
    select array_agg(b.group_no order by b.group_no, b.no), array_agg(b.limit_no order by b.group_no, b.no),
      array_agg(b.scope order by b.group_no, b.no), array_agg(b.period order by b.group_no, b.no),
      array_agg(b.rest order by b.group_no, b.no)
    into v_bound_groups, v_bound_limits, v_bound_scopes, v_bound_periods, v_bound_left
    from (
      -- A balance that can pay its whole charge refuses no request, so it is no bound.
      select g.no as group_no, 0 as no, g.charge_no as limit_no, '' as scope, 0 as period,
        v_balances[g.charge_no] as rest
      from unnest(p_group_charges, p_group_credits) with ordinality g (charge_no, credits, no)
      where g.credits > 0 and v_balances[g.charge_no] < p_charge_credits[g.charge_no]
      union all
      select l.group_no, l.no,
        cardinality(p_charge_credits) + dense_rank() over (order by l.charge_no, l.scope, l.period), l.scope, l.period,
        l.maximum - coalesce(s.spent, 0)
      from (
        select u.group_no, u.no, p_group_charges[u.group_no] as charge_no, u.scope,
          u.daily * (p_hour / 24)::integer as period, u.maximum
        from unnest(p_limit_groups, p_limit_scopes, p_limit_daily, p_limit_maxima) with ordinality
          u (group_no, scope, daily, maximum, no)
      ) l
      -- In a statement that begins after the last lock.
      left join lateral (
        select x.spent from spending_limit x
        where x.organization_id = p_charge_organizations[l.charge_no] and x.scope = l.scope and x.period = l.period
        offset 0
      ) s on true
    ) b;
    v_limit_credits := array_fill(0::bigint, array[cardinality(p_charge_credits) + cardinality(p_limit_groups)]);
    v_first_bounds := array_fill(null::integer, array[cardinality(p_group_credits)]);
    v_unpaid_groups := v_first_bounds;
    for v_no in reverse cardinality(v_bound_groups) .. 1 loop
      v_first_bounds[v_bound_groups[v_no]] := v_no;
    end loop;

    for v_request in 1 .. cardinality(p_request_credits) loop
      v_group := p_request_groups[v_request];
      continue when p_request_credits[v_request] = 0 or v_first_bounds[v_group] is null;

      -- The first bound that cannot pay, or the one after the group's last.
      v_bound := v_first_bounds[v_group];
      while v_bound_groups[v_bound] = v_group
        and v_limit_credits[v_bound_limits[v_bound]] + p_request_credits[v_request] <= v_bound_left[v_bound]
      loop
        v_bound := v_bound + 1;
      end loop;

      -- All can pay: each is charged.
      if v_bound_groups[v_bound] is distinct from v_group then
        for v_no in v_first_bounds[v_group] .. v_bound - 1 loop
          v_limit_credits[v_bound_limits[v_no]] := v_limit_credits[v_bound_limits[v_no]] + p_request_credits[v_request];
        end loop;
        continue;
      end if;

      -- One cannot: none is charged, and the request moves to a group like its own with status 402.
      if v_unpaid_groups[v_group] is null then
        p_group_statuses := p_group_statuses || 402;
        p_group_requests := p_group_requests || 0;
        p_group_credits := p_group_credits || 0::bigint;
        p_log_organizations := p_log_organizations || p_log_organizations[v_group];
        p_log_callers := p_log_callers || p_log_callers[v_group];
        p_log_paths := p_log_paths || p_log_paths[v_group];
        v_unpaid_groups[v_group] := cardinality(p_group_statuses);
      end if;
      p_charge_credits[p_group_charges[v_group]] :=
        p_charge_credits[p_group_charges[v_group]] - p_request_credits[v_request];
      p_group_credits[v_group] := p_group_credits[v_group] - p_request_credits[v_request];
      p_group_requests[v_group] := p_group_requests[v_group] - 1;
      p_group_requests[v_unpaid_groups[v_group]] := p_group_requests[v_unpaid_groups[v_group]] + 1;
      p_request_groups[v_request] := v_unpaid_groups[v_group];
      p_request_credits[v_request] := 0;
      unpaid_requests := unpaid_requests || v_request;
      unpaid_scopes := unpaid_scopes || v_bound_scopes[v_bound];
    end loop;

    insert into spending_limit as s (organization_id, scope, period, spent)
    select distinct p_charge_organizations[p_group_charges[b.group_no]], b.scope, b.period, v_limit_credits[b.limit_no]
    from unnest(v_bound_groups, v_bound_limits, v_bound_scopes, v_bound_periods) b (group_no, limit_no, scope, period)
    where b.scope <> ''
    on conflict (organization_id, scope, period) do update set spent = s.spent + excluded.spent, spent_at = now();
  end if;

  -- 4. Charges.
  with charged as (
    update spending_limit s set spent = s.spent + d.credits
    from (
      -- Kept apart: a constant scope could be looked up alone, by reading all of the index. A balance has one period.
      select c.organization_id, c.credits, c.no, '' as scope
      from unnest(p_charge_organizations, p_charge_credits) with ordinality c (organization_id, credits, no)
      where c.credits > 0
      offset 0
    ) d
    where s.organization_id = any (array[d.organization_id]) and s.scope = d.scope
      and s.spent + d.credits <= s.most
    returning d.no, s.most - s.spent as balance
  )
  select coalesce(array_agg(c.balance order by c.no), '{}') into balances from charged c;
  if p_lock = 0 and cardinality(balances) < cardinality(p_charge_credits) then
    -- Locking balances only now would break the order, so the caller calls again with p_lock.
    raise exception 'Cannot charge a batch: not all can pay' using errcode = 'WS402';
  end if;
  if p_lock = 1 then
    select array_agg(c.balance - c.credits order by c.no)
    into balances
    from unnest(v_balances, p_charge_credits) with ordinality c (balance, credits, no);
  end if;

  -- 5. The log.
  insert into request_log (
    requested_at, organization_no, caller_no, credits, latency_ms, status, path_no, admitted, settlement_id, request_id,
    method, asked)
  select timestamptz 'epoch' + r.at_ms * interval '1 millisecond', p_log_organizations[r.group_no],
    p_log_callers[r.group_no], r.credits, r.latency_ms, p_group_statuses[r.group_no], p_log_paths[r.group_no],
    r.admitted <> 0, r.settlement_id, r.request_id, r.method, r.unrouted_path
  from (
    -- Unnested in the select list: after `from`, the columns would be materialized first.
    select unnest(p_request_groups) as group_no, unnest(p_request_at_ms) as at_ms,
      unnest(p_request_settlements) as settlement_id, unnest(p_request_ids) as request_id,
      unnest(p_request_methods) as method, unnest(p_request_unrouted_paths) as unrouted_path,
      unnest(p_request_latencies_ms) as latency_ms, unnest(p_request_credits) as credits,
      unnest(p_request_admitted) as admitted
  ) r;

  -- 6. The rollups, counted later: changing a row of each organization here would cost more than all other work.
  insert into request_rollup_pending (hour, organizations, callers, paths, statuses, requests, credits)
  values (
    p_hour, p_log_organizations, p_log_callers, p_log_paths, p_group_statuses, p_group_requests, p_group_credits);
  return next;
end
$$;

-- Charges and logs the requests of one batch, in order of arrival and all of one hour. Parameters:
-- * p_payers, p_dues: who pays how much for the batch, in byte order of their ids. p_lock must be 1 if an organization
--   pays nothing or may lack credits; if it is 0 and one lacks credits, WS402 is raised and nothing is done.
-- * p_organizations to p_sums: each combination of organization, key, path (as in the rollups) and status once, with the
--   number of its requests and their credits.
-- * p_groups to p_admitted: the requests. p_groups is the number of the combination; p_request_ids has '' for `req_` and
--   the settlement's id; p_asked has the path that was asked for if it has no endpoint, otherwise ''.
-- Requests that the balance cannot pay become 402 and cost nothing. Returns a row per organization (row_no 0, its
-- balance afterwards) and a row per request that could not be paid. If a request is in the log already, the whole
-- statement fails with unique_violation.
create or replace function gate_settle(
  p_hour bigint, p_lock integer, p_payers text[], p_dues bigint[],
  p_organizations text[], p_keys text[], p_paths text[], p_statuses integer[], p_requests integer[], p_sums bigint[],
  p_groups integer[], p_requested_at_ms bigint[], p_settlements text[], p_request_ids text[], p_methods text[],
  p_asked text[], p_latencies_ms integer[], p_credits integer[], p_admitted integer[]
) returns table (row_no integer, organization_id text, balance bigint)
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_mergejoin = off set jit = off as $$
#variable_conflict use_column
declare
  v_count bigint;
  -- Locked organizations, and their balances before any debit.
  v_locked text[] := '{}';
  v_balances bigint[] := '{}';
  -- Per payer: its balance before, and what is left of it.
  v_had bigint[];
  v_left bigint[];
  -- Per combination: its payer if that lacks credits, and the first combination of the same organization, key and path,
  -- by which v_unpaid holds the number of their combination with status 402.
  v_payers integer[];
  v_kins integer[];
  v_unpaid integer[];
  v_group integer;
  v_payer integer;
  v_kin integer;
  -- Numbers of each combination's organization, caller and path.
  v_organizations integer[];
  v_callers integer[];
  v_paths integer[];
begin
  select n.organizations, n.callers, n.paths into v_organizations, v_callers, v_paths
  from request_log_numbers(p_organizations, p_keys, p_paths) n;

  -- Balances are locked in one order, which prevents deadlocks. If all can pay, debiting locks them in that order.
  if p_lock = 1 then
    select coalesce(array_agg(l.organization_id), '{}'), coalesce(array_agg(l.balance), '{}')
    into v_locked, v_balances
    from (
      select b.organization_id, b.balance from credit_balance b where b.organization_id = any (p_organizations)
      order by b.organization_id collate "C" for no key update
    ) l;
  end if;

  return query
  update credit_balance b set balance = b.balance - d.credits
  from unnest(p_payers, p_dues) d (organization_id, credits)
  where b.organization_id = any (array[d.organization_id]) and b.balance >= d.credits
  returning 0, b.organization_id, b.balance;
  get diagnostics v_count = row_count;

  -- Not all can pay: first come, first served, each in full or not at all. Locking balances only now would break the
  -- order, so the caller calls again with p_lock.
  if v_count < cardinality(p_payers) then
    if p_lock = 0 then
      raise exception 'Cannot debit a batch: not all can pay' using errcode = 'WS402';
    end if;
    select array_agg(coalesce(b.balance, 0) order by d.no)
    into v_had
    from unnest(p_payers) with ordinality d (organization_id, no)
    left join unnest(v_locked, v_balances) b (organization_id, balance) on b.organization_id = d.organization_id;
    select array_agg(d.no order by g.no), array_agg(g.kin order by g.no), array_agg(g.unpaid order by g.no)
    into v_payers, v_kins, v_unpaid
    from (
      select u.no, u.organization_id, min(u.no) over kins as kin, max(u.no) filter (where u.status = 402) over kins as unpaid
      from unnest(p_organizations, p_keys, p_paths, p_statuses) with ordinality u (organization_id, key, path, status, no)
      window kins as (partition by u.organization_id, u.key, u.path)
    ) g
    left join unnest(p_payers, p_dues, v_had) with ordinality d (organization_id, credits, had, no)
      on d.organization_id = g.organization_id and d.had < d.credits;

    v_left := v_had;
    for v_no in 1 .. cardinality(p_credits) loop
      v_group := p_groups[v_no];
      v_payer := v_payers[v_group];
      continue when v_payer is null or p_credits[v_no] = 0;
      if p_credits[v_no] <= v_left[v_payer] then
        v_left[v_payer] := v_left[v_payer] - p_credits[v_no];
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
      p_requests[v_group] := p_requests[v_group] - 1;
      p_sums[v_group] := p_sums[v_group] - p_credits[v_no];
      p_requests[v_unpaid[v_kin]] := p_requests[v_unpaid[v_kin]] + 1;
      p_groups[v_no] := v_unpaid[v_kin];
      p_credits[v_no] := 0;
      row_no := v_no;
      return next;
    end loop;

    update credit_balance b set balance = d.rest
    from unnest(p_payers, p_dues, v_had, v_left) d (organization_id, credits, had, rest)
    where b.organization_id = any (array[d.organization_id]) and d.had < d.credits and d.rest < d.had;
    return query
    select 0, d.organization_id, d.rest
    from unnest(p_payers, p_dues, v_had, v_left) d (organization_id, credits, had, rest)
    where d.had < d.credits;
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

  -- Counted into the rollups later: changing a row of each organization here would cost more than all the rest.
  insert into request_rollup_pending (hour, organizations, callers, paths, statuses, requests, credits)
  values (p_hour, v_organizations, v_callers, v_paths, p_statuses, p_requests, p_sums);

  if p_lock = 1 then
    return query
    select 0, l.organization_id, l.balance
    from unnest(v_locked, v_balances) l (organization_id, balance)
    where l.organization_id <> all (p_payers);
  end if;
end
$$;

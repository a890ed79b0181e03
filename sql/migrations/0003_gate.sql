-- The functions of the gate look rows up by key, few at a time, in tables that grow from empty to very large while their
-- plans stay cached: so they are told to use the indexes, whatever the statistics say at the moment. Where a row to
-- change is joined, `= any (array[…])` in place of `=` leaves no other way: for two plain columns there are joins that
-- read all of an index, which look cheap as long as the table is small.

-- Admissions of the last second, per organization. Unlogged: admitting needs no write to the disk, and after a crash
-- the window is primed from the request log.
create unlogged table rate_window (
  organization_id text primary key,
  -- One entry per batch of admissions, oldest first: when, and how many were admitted so far, that batch included.
  at timestamptz[] not null,
  upto bigint[] not null,
  -- Admitted before the first entry.
  since bigint not null
) with (fillfactor = 50);

-- Makes the windows that are missing for these keys, filled from the log. Entries are moved to the end of their
-- 10 ms, which errs on the strict side. What a crash may add to one second are the requests that were in flight.
create function rate_window_prime(p_hashes text[]) returns void language sql
set enable_seqscan = off set enable_bitmapscan = off set enable_mergejoin = off set jit = off as $$
  insert into rate_window (organization_id, at, upto, since)
  select o.organization_id, coalesce(e.at, '{}'), coalesce(e.upto, '{}'), 0
  from (
    select distinct k.organization_id
    from unnest(p_hashes) h (hash)
    cross join lateral (select x.organization_id from api_key x where x.hash = decode(h.hash, 'hex') offset 0) k
  ) o
  cross join lateral (
    select array_agg(s.at order by s.at) as at, array_agg(s.upto order by s.at) as upto
    from (
      select r.at, sum(count(*)) over (order by r.at)::bigint as upto
      from (
        select date_bin('10 ms', l.requested_at, 'epoch') + interval '10 ms' as at
        from request_log l
        where l.organization_id = o.organization_id
          and l.requested_at > now() - interval '1010 milliseconds'
          and l.admitted
      ) r
      group by r.at
    ) s
  ) e
  order by o.organization_id
  on conflict do nothing
$$;

-- Admits or refuses all requests of one batch, grouped by key and endpoint: p_requests says how many each group has.
-- One row of arrays with an element per group with a recognised key, refusal '' for none; `admitted` counts for the
-- organization, whose requests are served in order of arrival. Without any such key group_nos is empty; no row at all
-- says that a window is missing: prime it and ask again.
create function gate_admit(p_hashes text[], p_endpoints text[], p_requests integer[])
returns table (
  requested_at_ms bigint, group_nos integer[], organization_ids text[], api_key_ids text[], refusals text[],
  rate_limits integer[], balances bigint[], used bigint[], admitted bigint[], resets_us bigint[]
) language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_mergejoin = off
set enable_memoize = off set jit = off as $$
#variable_conflict use_column
begin
  -- Only unlogged rows are written here, so no commit waits for the disk, even where reading tidied a logged page.
  perform set_config('synchronous_commit', 'off', true);

  return query
  with called as materialized (
    select g.no::integer, g.requests, o.id as organization_id, k.id as api_key_id,
      case
        when o.deleted_at is not null then 'ORGANIZATION_NOT_FOUND'
        when o.suspended_at is not null then 'ACCOUNT_SUSPENDED'
        when d.endpoint is not null then 'ENDPOINT_DISABLED'
      end as refusal,
      o.rate_limit, b.balance
    from unnest(p_hashes, p_endpoints, p_requests) with ordinality g (hash, endpoint, requests, no)
    cross join lateral (
      select x.organization_id, x.id from api_key x
      where x.hash = decode(g.hash, 'hex')
        and x.revoked_at is null and (x.expires_at is null or x.expires_at > clock_timestamp())
      offset 0
    ) k
    cross join lateral (select x.* from organization x where x.id = k.organization_id offset 0) o
    cross join lateral (
      select x.balance from credit_balance x where x.organization_id = k.organization_id offset 0
    ) b
    left join endpoint_disabled d on d.endpoint = g.endpoint
  ),
  wanted as materialized (
    select c.organization_id, max(c.rate_limit) as rate_limit,
      coalesce(sum(c.requests) filter (where c.refusal is null), 0) as candidates
    from called c
    group by c.organization_id
    order by c.organization_id
  ),
  -- One order for every process, so that no two wait for each other. What a lock was waited for is read as it is then,
  -- not as the statement's snapshot has it.
  locked as materialized (
    select n.organization_id, n.rate_limit, n.candidates, w.at, w.upto, w.since
    from wanted n
    cross join lateral (
      select x.at, x.upto, x.since from rate_window x where x.organization_id = n.organization_id for update
    ) w
  ),
  -- Now is when the last lock is held. Above 100 a second, admissions share the end of their 10 ms: a window never has
  -- many more than 100 entries that count.
  moment as materialized (
    select m.now, m.windows, date_bin('10 ms', m.now, 'epoch') + interval '10 ms' as step,
      floor(extract(epoch from m.now) * 1000)::bigint as now_ms
    from (select clock_timestamp() as now, count(*) as windows from locked offset 0) m
  ),
  -- How many entries count no more. They are dropped when there are a few of them, or when a clock that was set back
  -- leaves entries in the future, which then count from now on.
  measured as (
    select m.now, n.*, c.gone, c.total, c.ahead, c.ahead or c.gone > 15 as drops,
      case when n.rate_limit > 100 then m.step else m.now end as entry_at,
      c.total - case when c.gone = 0 then n.since else n.upto[c.gone] end as used
    from locked n
    cross join moment m
    cross join lateral (
      select width_bucket(m.now - interval '1 second', n.at) as gone,
        coalesce(n.upto[cardinality(n.upto)], n.since) as total,
        coalesce(n.at[cardinality(n.at)] > m.now + interval '1 second', false) as ahead
      offset 0
    ) c
    where m.windows = (select count(*) from wanted)
  ),
  decided as (
    select k.organization_id, k.now, k.entry_at, k.used, k.total, k.drops,
      least(k.candidates, greatest(k.rate_limit - k.used, 0)) as admitted,
      case when k.drops then 1 else k.gone + 1 end as oldest,
      case when k.ahead then array[k.now] when k.drops then k.at[k.gone + 1:] else k.at end as at,
      case when k.ahead then array[k.total] when k.drops then k.upto[k.gone + 1:] else k.upto end as upto
    from measured k
    offset 0
  ),
  -- Found by its name, not by its place: a row that changed while its lock was waited for is followed to what it is now.
  written as (
    update rate_window w
    set at = case
        when d.admitted = 0 or d.at[cardinality(d.at)] >= d.entry_at then d.at
        else d.at || array[d.entry_at]
      end,
      upto = case
        when d.admitted = 0 then d.upto
        when d.at[cardinality(d.at)] >= d.entry_at
          then d.upto[:cardinality(d.upto) - 1] || array[d.total + d.admitted]
        else d.upto || array[d.total + d.admitted]
      end,
      since = case when d.drops then d.total - d.used else w.since end
    from decided d
    where w.organization_id = any (array[d.organization_id])
    returning w.organization_id, d.used, d.admitted,
      -- As a float, which holds microseconds until far beyond our time, for decimals take longer than all the rest.
      (date_part('epoch', coalesce(w.at[d.oldest] + interval '1 second', d.now)) * 1000000)::bigint as reset_us
  )
  select m.now_ms, coalesce(array_agg(c.no) filter (where c.no is not null), '{}'), array_agg(c.organization_id),
    array_agg(c.api_key_id),
    array_agg(coalesce(c.refusal, '')), array_agg(c.rate_limit), array_agg(c.balance), array_agg(w.used),
    array_agg(w.admitted), array_agg(w.reset_us)
  from moment m
  left join (called c join written w on w.organization_id = c.organization_id) on true
  where m.windows = (select count(*) from wanted)
  group by m.now_ms;
end
$$;

-- Charges and logs all requests of one batch, given in order of arrival and all of one hour. Who pays, and how much for
-- all of the batch, comes first, in the order of the names' bytes; p_lock is 1 where somebody pays nothing or may not be
-- able to pay; where it is 0 and somebody is not, nothing is done and WS402 raised. Then what requests share, each
-- combination of organization, key, path (as the rollups have it) and status once, with its requests and their credits;
-- then the requests, each with the number of its combination, with '' if the caller's id for it is `req_` and its own,
-- and with '' or, if that leads nowhere, the path that was asked for. Requests that the balance cannot pay become 402 and
-- cost nothing. Answers one row per organization (row_no 0, its balance afterwards) and one row per request that could
-- not be paid. A request that is already in the log ends the whole statement with unique_violation.
create function gate_settle(
  p_hour bigint, p_lock integer, p_payers text[], p_dues bigint[],
  p_organizations text[], p_keys text[], p_paths text[], p_statuses integer[], p_requests integer[], p_sums bigint[],
  p_groups integer[], p_requested_at_ms bigint[], p_settlements text[], p_request_ids text[], p_methods text[],
  p_asked text[], p_latencies_ms integer[], p_credits integer[], p_admitted integer[]
) returns table (row_no integer, organization_id text, balance bigint)
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_mergejoin = off set jit = off as $$
#variable_conflict use_column
declare
  v_slot integer := p_hour % 24 + 1;
  v_count bigint;
  -- What was locked first, and what it held before anything was debited.
  v_locked text[] := '{}';
  v_balances bigint[] := '{}';
  -- Per payer: what it had and what is left of it.
  v_had bigint[];
  v_left bigint[];
  -- Per combination: its payer where that one is short, and the first combination of the same organization, key and
  -- path, under which v_unpaid has the number of their combination with status 402.
  v_payers integer[];
  v_kins integer[];
  v_unpaid integer[];
  v_group integer;
  v_payer integer;
  v_kin integer;
begin
  -- Balances are locked in one order, so that no two batches wait for each other in a circle. Where all can pay, debiting
  -- does that.
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

  -- Not all of it can be paid: first come, first served, each in full or not at all. To lock only now who is short would
  -- break the order: the caller asks again, with p_lock.
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
        p_organizations := p_organizations || p_organizations[v_group];
        p_keys := p_keys || p_keys[v_group];
        p_paths := p_paths || p_paths[v_group];
        p_statuses := p_statuses || 402;
        p_requests := p_requests || 0;
        p_sums := p_sums || 0::bigint;
        v_unpaid[v_kin] := cardinality(p_organizations);
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
    organization_id, requested_at, settlement_id, request_id, api_key_id, method, path, routed, status, latency_ms,
    credits, admitted)
  select p_organizations[r.group_no], timestamptz 'epoch' + r.at_ms * interval '1 millisecond', r.settlement_id,
    case when r.request_id = '' then 'req_' || r.settlement_id else r.request_id end,
    p_keys[r.group_no], r.method, case when r.asked = '' then p_paths[r.group_no] else r.asked end, r.asked = '',
    p_statuses[r.group_no], r.latency_ms, r.credits, r.admitted <> 0
  from unnest(
    p_groups, p_requested_at_ms, p_settlements, p_request_ids, p_methods, p_asked, p_latencies_ms, p_credits, p_admitted)
    r (group_no, at_ms, settlement_id, request_id, method, asked, latency_ms, credits, admitted);

  -- Nearly every row is there already, and to update it costs half of what an upsert does. The day is made a column for
  -- the same reason as above: as a constant it would be looked for by itself.
  update request_rollup c
  set requests = c.requests + g.requests, credits = c.credits + g.credits,
    by_hour[v_slot] = c.by_hour[v_slot] + g.requests
  from (
    select u.*, (p_hour / 24)::integer as day
    from unnest(p_organizations, p_keys, p_paths, p_statuses, p_requests, p_sums)
      u (organization_id, api_key_id, path, status, requests, credits)
    offset 0
  ) g
  where c.organization_id = any (array[g.organization_id]) and c.day = g.day and c.api_key_id = g.api_key_id
    and c.path = g.path and c.status = g.status;
  get diagnostics v_count = row_count;
  if v_count < cardinality(p_organizations) then
    insert into request_rollup as c (
      organization_id, day, api_key_id, path, status, requests, credits, by_hour)
    select g.organization_id, p_hour / 24, g.api_key_id, g.path, g.status, g.requests, g.credits,
      array_fill(0, array[v_slot - 1]) || g.requests || array_fill(0, array[24 - v_slot])
    from unnest(p_organizations, p_keys, p_paths, p_statuses, p_requests, p_sums)
      g (organization_id, api_key_id, path, status, requests, credits)
    where g.requests > 0
      -- The update above missed these, and nobody can have made them since, for the balances are held.
      and (
        select count(*) from request_rollup x
        where x.organization_id = g.organization_id and x.day = p_hour / 24 and x.api_key_id = g.api_key_id
          and x.path = g.path and x.status = g.status) = 0
    on conflict (organization_id, day, api_key_id, path, status) do update
    set requests = c.requests + excluded.requests, credits = c.credits + excluded.credits,
      by_hour[v_slot] = c.by_hour[v_slot] + excluded.by_hour[v_slot];
  end if;

  if p_lock = 1 then
    return query
    select 0, l.organization_id, l.balance
    from unnest(v_locked, v_balances) l (organization_id, balance)
    where l.organization_id <> all (p_payers);
  end if;
end
$$;

-- Ends requests whose settlement has an unknown outcome: what was charged is given back, the row says 503, and where
-- there is no row one is left, so that a settlement that arrives later finds its place taken. Doing it again changes
-- nothing. Paths as for gate_settle. Answers how many rows were turned and how many were left.
create function gate_void(
  p_organizations text[], p_requested_at_ms bigint[], p_settlements text[], p_requests text[], p_keys text[],
  p_methods text[], p_paths text[], p_asked text[], p_latencies_ms integer[], p_admitted integer[]
) returns table (turned integer, left_behind integer, refunded bigint) language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_mergejoin = off set jit = off as $$
declare
  v_organizations text[];
  v_requested_at_ms bigint[];
  v_keys text[];
  v_paths text[];
  v_statuses integer[];
  v_credits integer[];
begin
  perform from credit_balance b where b.organization_id = any (p_organizations)
  order by b.organization_id collate "C" for no key update;

  -- Rows that were written, as they were.
  with found as (
    select l.organization_id, l.requested_at, l.settlement_id, r.at_ms, l.api_key_id,
      case when l.routed then l.path else '' end as path, l.status, l.credits
    from unnest(p_organizations, p_requested_at_ms, p_settlements) r (organization_id, at_ms, settlement_id)
    join request_log l on l.organization_id = any (array[r.organization_id])
      and l.requested_at = timestamptz 'epoch' + r.at_ms * interval '1 millisecond'
      and l.settlement_id = r.settlement_id
    where l.status <> 503
  ),
  turned as (
    update request_log l set status = 503, credits = 0
    from found f
    where l.organization_id = any (array[f.organization_id]) and l.requested_at = f.requested_at
      and l.settlement_id = f.settlement_id
    returning f.organization_id, f.at_ms, f.api_key_id, f.path, f.status, f.credits::integer
  )
  select count(*), coalesce(sum(t.credits), 0), array_agg(t.organization_id), array_agg(t.at_ms),
    array_agg(t.api_key_id), array_agg(t.path), array_agg(t.status), array_agg(t.credits)
  into turned, refunded, v_organizations, v_requested_at_ms, v_keys, v_paths, v_statuses, v_credits
  from turned t;

  if turned > 0 then
    update credit_balance b set balance = b.balance + o.credits
    from (
      select t.organization_id, sum(t.credits) as credits
      from unnest(v_organizations, v_credits) t (organization_id, credits)
      group by t.organization_id
    ) o
    where b.organization_id = any (array[o.organization_id]) and o.credits > 0;
    perform request_rollup_add(v_organizations, v_requested_at_ms, v_keys, v_paths, v_statuses, v_credits, -1);
    perform request_rollup_add(
      v_organizations, v_requested_at_ms, v_keys, v_paths, array_fill(503, array[turned]), array_fill(0, array[turned]), 1);
  end if;

  with inserted as (
    insert into request_log as l (
      organization_id, requested_at, settlement_id, request_id, api_key_id, method, path, routed, status, latency_ms,
      credits, admitted)
    select r.organization_id, timestamptz 'epoch' + r.at_ms * interval '1 millisecond', r.settlement_id,
      r.request_id, r.api_key_id, r.method, case when r.asked = '' then r.path else r.asked end, r.asked = '', 503,
      r.latency_ms, 0, r.admitted <> 0
    from unnest(
      p_organizations, p_requested_at_ms, p_settlements, p_requests, p_keys, p_methods, p_paths, p_asked,
      p_latencies_ms, p_admitted)
      r (organization_id, at_ms, settlement_id, request_id, api_key_id, method, path, asked, latency_ms, admitted)
    on conflict do nothing
    returning l.organization_id, (extract(epoch from l.requested_at) * 1000)::bigint as at_ms, l.api_key_id,
      case when l.routed then l.path else '' end as path
  )
  select count(*), array_agg(i.organization_id), array_agg(i.at_ms), array_agg(i.api_key_id), array_agg(i.path)
  into left_behind, v_organizations, v_requested_at_ms, v_keys, v_paths
  from inserted i;

  if left_behind > 0 then
    perform request_rollup_add(
      v_organizations, v_requested_at_ms, v_keys, v_paths, array_fill(503, array[left_behind]),
      array_fill(0, array[left_behind]), 1);
  end if;
  return next;
end
$$;

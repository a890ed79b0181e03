-- The functions of the gate look rows up by key, few at a time, in tables that grow from empty to very large while their
-- plans stay cached: so they are told to use the indexes, whatever the statistics say at the moment.

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
    join api_key k on k.hash = decode(h.hash, 'hex')
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
-- One row per group with a recognised key; `admitted` counts for the organization, whose requests are served in order
-- of arrival. A single row with group_no 0 says that a window is missing: prime it and ask again.
create function gate_admit(p_hashes text[], p_endpoints text[], p_requests integer[])
returns table (
  group_no integer, organization_id text, api_key_id text, refusal text, rate_limit integer, balance bigint,
  used bigint, admitted bigint, reset_sec bigint, requested_at_ms bigint
) language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_mergejoin = off set jit = off as $$
#variable_conflict use_column
declare
  v_groups integer[];
  v_organizations text[];
  v_keys text[];
  v_refusals text[];
  v_limits integer[];
  v_balances bigint[];
  v_expected bigint;
  v_locked bigint;
  v_now timestamptz;
  v_step timestamptz;
begin
  -- Only unlogged rows are written here, so no commit waits for the disk, even where reading tidied a logged page.
  perform set_config('synchronous_commit', 'off', true);

  select array_agg(g.no), array_agg(o.id), array_agg(k.id), array_agg(
      case
        when o.deleted_at is not null then 'ORGANIZATION_NOT_FOUND'
        when o.suspended_at is not null then 'ACCOUNT_SUSPENDED'
        when d.endpoint is not null then 'ENDPOINT_DISABLED'
        else ''
      end),
    array_agg(o.rate_limit), array_agg(b.balance), count(distinct o.id)
  into v_groups, v_organizations, v_keys, v_refusals, v_limits, v_balances, v_expected
  from unnest(p_hashes, p_endpoints) with ordinality g (hash, endpoint, no)
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
  left join endpoint_disabled d on d.endpoint = g.endpoint;

  if v_expected = 0 then
    return;
  end if;

  -- One order for every process, so that no two wait for each other.
  perform from rate_window w where w.organization_id = any (v_organizations) order by w.organization_id for update;
  get diagnostics v_locked = row_count;
  if v_locked < v_expected then
    group_no := 0;
    return next;
    return;
  end if;

  v_now := clock_timestamp();
  -- Above 100 a second, admissions share the end of their 10 ms: a window never has many more than 100 entries.
  v_step := date_bin('10 ms', v_now, 'epoch') + interval '10 ms';

  return query
  with wanted as (
    select g.organization_id, g.rate_limit,
      coalesce(sum(p_requests[g.no]) filter (where g.refusal = ''), 0) as candidates
    from unnest(v_groups, v_organizations, v_refusals, v_limits) g (no, organization_id, refusal, rate_limit)
    group by g.organization_id, g.rate_limit
  ),
  -- What is left of each window. A clock that was set back leaves entries in the future: they count from now on.
  kept as (
    select w.ctid as place, n.organization_id, n.rate_limit, n.candidates, c.total,
      case
        when c.ahead then array[v_now]
        when c.gone = 0 then w.at
        else w.at[c.gone + 1:]
      end as at,
      case
        when c.ahead then array[c.total]
        when c.gone = 0 then w.upto
        else w.upto[c.gone + 1:]
      end as upto,
      case when c.gone = 0 then w.since else w.upto[c.gone] end as since
    from wanted n
    cross join lateral (
      select x.ctid, x.* from rate_window x where x.organization_id = n.organization_id offset 0
    ) w
    cross join lateral (
      select width_bucket(v_now - interval '1 second', w.at) as gone,
        coalesce(w.upto[cardinality(w.upto)], w.since) as total,
        coalesce(w.at[cardinality(w.at)] > v_now + interval '1 second', false) as ahead
      offset 0
    ) c
  ),
  decided as (
    select k.*, least(k.candidates, greatest(k.rate_limit - (k.total - k.since), 0)) as admitted,
      case when k.rate_limit > 100 then v_step else v_now end as entry_at
    from kept k
    offset 0
  ),
  written as (
    update rate_window w
    set at = case
        when d.admitted = 0 then d.at
        when d.at[cardinality(d.at)] >= d.entry_at then d.at
        else d.at || d.entry_at
      end,
      upto = case
        when d.admitted = 0 then d.upto
        when d.at[cardinality(d.at)] >= d.entry_at then d.upto[:cardinality(d.upto) - 1] || d.total + d.admitted
        else d.upto || d.total + d.admitted
      end,
      since = d.since
    from decided d
    where w.ctid = d.place
    returning w.organization_id, d.total - d.since as used, d.admitted, w.at[1] as oldest_at
  )
  select g.no, g.organization_id, g.api_key_id, nullif(g.refusal, ''), g.rate_limit, g.balance,
    w.used, w.admitted,
    ceil(extract(epoch from coalesce(w.oldest_at + interval '1 second', v_now)))::bigint,
    floor(extract(epoch from v_now) * 1000)::bigint
  from unnest(v_groups, v_organizations, v_keys, v_refusals, v_limits, v_balances)
    g (no, organization_id, api_key_id, refusal, rate_limit, balance)
  join written w on w.organization_id = g.organization_id;
end
$$;

-- Charges and logs all requests of one batch, given in order of arrival. Rows that the balance cannot pay become 402
-- and cost nothing. Answers one row per organization (row_no 0, its balance afterwards) and one row per request that
-- could not be paid. A request that is already in the log ends the whole statement with unique_violation.
create function gate_settle(
  p_organizations text[], p_requested_at_ms bigint[], p_settlements text[], p_requests text[], p_keys text[],
  p_methods text[], p_paths text[], p_statuses integer[], p_latencies_ms integer[], p_credits integer[], p_admitted integer[]
) returns table (row_no integer, organization_id text, balance bigint)
language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_mergejoin = off set jit = off as $$
#variable_conflict use_column
declare
  v_paid text[];
  v_is_short boolean;
  v_short record;
  v_left bigint;
  v_row record;
begin
  perform from credit_balance b where b.organization_id = any (p_organizations)
  order by b.organization_id for no key update;

  with due as (
    select d.organization_id, sum(d.credits) as credits
    from unnest(p_organizations, p_credits) d (organization_id, credits)
    group by d.organization_id
    having sum(d.credits) > 0
  ),
  debited as (
    update credit_balance b set balance = b.balance - d.credits
    from due d
    where b.organization_id = d.organization_id and b.balance >= d.credits
    returning b.organization_id
  )
  select array_agg(p.organization_id), (select count(*) from due) > count(*)
  into v_paid, v_is_short
  from debited p;

  -- Not all of it can be paid: first come, first served, each in full or not at all.
  if v_is_short then
    for v_short in
      select d.organization_id, coalesce(b.balance, 0) as balance
      from (
        select distinct u.organization_id from unnest(p_organizations, p_credits) u (organization_id, credits)
        where u.credits > 0 and u.organization_id <> all (coalesce(v_paid, '{}'))
      ) d
      left join credit_balance b on b.organization_id = d.organization_id
    loop
      v_left := v_short.balance;
      for v_row in
        select r.no, r.credits
        from unnest(p_organizations, p_credits) with ordinality r (organization_id, credits, no)
        where r.organization_id = v_short.organization_id and r.credits > 0
        order by r.no
      loop
        if v_row.credits <= v_left then
          v_left := v_left - v_row.credits;
        else
          p_statuses[v_row.no] := 402;
          p_credits[v_row.no] := 0;
          row_no := v_row.no;
          organization_id := v_short.organization_id;
          balance := v_left;
          return next;
        end if;
      end loop;
      update credit_balance b set balance = v_left
      where b.organization_id = v_short.organization_id and b.balance <> v_left;
    end loop;
  end if;

  insert into request_log (
    organization_id, requested_at, settlement_id, request_id, api_key_id, method, path, status, latency_ms, credits,
    admitted)
  select r.organization_id, timestamptz 'epoch' + r.at_ms * interval '1 millisecond', r.settlement_id,
    r.request_id, r.api_key_id, r.method, r.path, r.status, r.latency_ms, r.credits, r.admitted <> 0
  from unnest(
    p_organizations, p_requested_at_ms, p_settlements, p_requests, p_keys, p_methods, p_paths, p_statuses,
    p_latencies_ms, p_credits, p_admitted)
    r (organization_id, at_ms, settlement_id, request_id, api_key_id, method, path, status, latency_ms, credits, admitted);

  perform request_rollup_add(
    p_organizations, p_requested_at_ms, p_keys, p_paths, p_statuses, p_credits, 1);

  return query
  select 0, b.organization_id, b.balance
  from credit_balance b
  where b.organization_id = any (p_organizations);
end
$$;

-- Ends requests whose settlement has an unknown outcome: what was charged is given back, the row says 503, and where
-- there is no row one is left, so that a settlement that arrives later finds its place taken. Doing it again changes
-- nothing. Answers how many rows were turned and how many were left.
create function gate_void(
  p_organizations text[], p_requested_at_ms bigint[], p_settlements text[], p_requests text[], p_keys text[],
  p_methods text[], p_paths text[], p_latencies_ms integer[], p_admitted integer[]
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
  order by b.organization_id for no key update;

  -- Rows that were written, as they were.
  with found as (
    select l.organization_id, l.requested_at, l.settlement_id, r.at_ms, l.api_key_id, l.path, l.status, l.credits
    from unnest(p_organizations, p_requested_at_ms, p_settlements) r (organization_id, at_ms, settlement_id)
    join request_log l on l.organization_id = r.organization_id
      and l.requested_at = timestamptz 'epoch' + r.at_ms * interval '1 millisecond'
      and l.settlement_id = r.settlement_id
    where l.status <> 503
  ),
  turned as (
    update request_log l set status = 503, credits = 0
    from found f
    where l.organization_id = f.organization_id and l.requested_at = f.requested_at
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
    where b.organization_id = o.organization_id and o.credits > 0;
    perform request_rollup_add(v_organizations, v_requested_at_ms, v_keys, v_paths, v_statuses, v_credits, -1);
    perform request_rollup_add(
      v_organizations, v_requested_at_ms, v_keys, v_paths, array_fill(503, array[turned]), array_fill(0, array[turned]), 1);
  end if;

  with inserted as (
    insert into request_log as l (
      organization_id, requested_at, settlement_id, request_id, api_key_id, method, path, status, latency_ms, credits,
      admitted)
    select r.organization_id, timestamptz 'epoch' + r.at_ms * interval '1 millisecond', r.settlement_id,
      r.request_id, r.api_key_id, r.method, r.path, 503, r.latency_ms, 0, r.admitted <> 0
    from unnest(
      p_organizations, p_requested_at_ms, p_settlements, p_requests, p_keys, p_methods, p_paths, p_latencies_ms,
      p_admitted)
      r (organization_id, at_ms, settlement_id, request_id, api_key_id, method, path, latency_ms, admitted)
    on conflict do nothing
    returning l.organization_id, (extract(epoch from l.requested_at) * 1000)::bigint as at_ms, l.api_key_id, l.path
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

-- Admits or refuses all requests of one batch, grouped by key and endpoint: p_requests says how many each group has.
-- One row of arrays with an element per group with a recognised key, refusal '' for none; `admitted` counts for the
-- organization, whose requests are served in order of arrival. Without any such key group_nos is empty; no row at all
-- says that a window is missing: prime it and ask again.
--
-- Like the other functions of the gate it looks rows up by key, few at a time, in tables that grow from empty to very
-- large while plans stay cached: so they are told to use the indexes, whatever the statistics say at the moment. If a
-- row to change is joined, `= any (array[…])` in place of `=` leaves no other way: for two plain columns there are joins
-- that read all of an index, which look cheap as long as the table is small.
create or replace function gate_admit(p_hashes text[], p_endpoints text[], p_requests integer[])
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

-- Admits or refuses requests of organizations. Arrays have an element per organization, in byte order of their ids: its
-- cached rate limit, and the number of requests for a slot. The limits were true as of the change p_epoch: if an
-- organization changed since, is_stale is true and nothing is decided; `epoch` and `changed` report changes in any
-- case. If a window is missing, no row comes back: prime it and call again. `spent` is the spending of other limits
-- than the balance, -1 for one without a row: those with p_scopes of the organizations p_limited, today (UTC) where
-- p_daily is 1, ever where it is 0.
--
-- Like the gate's other functions it looks up few rows by key, in tables that grow from empty to very large while plans
-- stay cached: the settings make it use the indexes, whatever the statistics say. If a row to change is joined,
-- `= any (array[…])` instead of `=` leaves no other plan: two plain columns allow joins that read all of an index and
-- look cheap while the table is small. For the same reason a bound that is the same for all rows is put on `era + 0`:
-- on `era` alone it would find the rows of all organizations that are idle. A second column is `>=` and `<=` at once:
-- PostgreSQL 15 may leave a second `= any` out of the look-up and read every version of an organization's rows instead.
-- lane gate
create or replace function gate_admit(
  p_epoch bigint, p_organizations text[], p_rate_limits integer[], p_candidates integer[],
  p_limited text[], p_scopes text[], p_daily integer[]
) returns table (
  epoch bigint, changed text[], is_stale boolean, requested_at_ms bigint, balances bigint[], used bigint[],
  admitted bigint[], resets_us bigint[], spent bigint[]
) language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_mergejoin = off
set enable_memoize = off set jit = off as $$
#variable_conflict use_column
declare
  v_changed text[] := '{}';
  v_count bigint;
  v_epoch bigint := coalesce((select c.n from account_change c where c.organization_id = ''), 0);
  v_era integer;
  v_now timestamptz;
  v_spent bigint[] := '{}';
begin
  -- Only unlogged rows are written, so the commit need not wait for the disk, even if reading tidied a logged page.
  perform set_config('synchronous_commit', 'off', true);

  if v_epoch <> p_epoch then
    v_changed := coalesce(account_changes_since(p_epoch, v_epoch), '{}');
    if v_changed && p_organizations or '*' = any (v_changed) then
      return query select v_epoch, v_changed, true, 0::bigint, '{}'::bigint[], '{}'::bigint[], '{}'::bigint[],
        '{}'::bigint[], '{}'::bigint[];
      return;
    end if;
  end if;

  -- One order for all processes prevents deadlocks.
  perform from unnest(p_organizations) o (id)
  cross join lateral (select from rate_window x where x.organization_id = o.id for update) w;
  get diagnostics v_count = row_count;
  if v_count < cardinality(p_organizations) then
    return;
  end if;

  -- Time and state are read after the last lock, the state in its own statement, so that it includes prior commits.
  v_now := clock_timestamp();
  v_era := floor(date_part('epoch', v_now) / 2)::integer;
  -- A statement of its own, because most batches have no such limit.
  if p_limited <> '{}' then
    select array_agg(coalesce(s.spent, -1) order by l.no)
    into v_spent
    from unnest(p_limited, p_scopes, p_daily) with ordinality l (organization_id, scope, daily, no)
    left join lateral (
      select x.spent from spending_limit x
      where x.organization_id = l.organization_id and x.scope = l.scope
        and x.period = l.daily * floor(date_part('epoch', v_now) / 86400)::integer
      offset 0
    ) s on true;
  end if;
  return query
  with asked as materialized (
    select o.no, o.id, o.rate_limit, o.candidates, s.era, coalesce(s.at, '{}') as at, coalesce(s.upto, '{}') as upto,
      coalesce(s.since, 0) as since
    from unnest(p_organizations, p_rate_limits, p_candidates) with ordinality o (id, rate_limit, candidates, no)
    left join lateral (
      select x.era, x.at, x.upto, x.since from rate_window_state x
      where x.organization_id = o.id and x.era >= v_era - 1
      order by x.era desc
      limit 1
    ) s on true
  ),
  -- `gone`: entries that no longer count. They are dropped when there are several, when an era begins, or when a clock
  -- that was set back leaves entries in the future, which then count from now on.
  measured as (
    select a.*, c.gone, c.total, c.ahead,
      c.ahead or c.gone > 15 or a.era is distinct from v_era as drops,
      c.total - case when c.gone = 0 then a.since else a.upto[c.gone] end as used,
      -- Above 100 a second, admissions within 10 ms share an entry: hardly more than 100 entries count.
      case
        when a.rate_limit > 100 then date_bin('10 ms', v_now, 'epoch') + interval '10 ms'
        else v_now
      end as entry_at
    from asked a
    cross join lateral (
      select width_bucket(v_now - interval '1 second', a.at) as gone,
        coalesce(a.upto[cardinality(a.upto)], a.since) as total,
        coalesce(a.at[cardinality(a.at)] > v_now + interval '1 second', false) as ahead
      offset 0
    ) c
  ),
  kept as (
    select m.no, m.id, m.era, m.used, m.total, m.drops, m.entry_at,
      least(m.candidates, greatest(m.rate_limit - m.used, 0)) as admitted,
      case when m.drops then m.total - m.used else m.since end as since,
      case when m.drops then 1 else m.gone + 1 end as oldest,
      case when m.ahead then array[v_now] when m.drops then m.at[m.gone + 1:] else m.at end as at,
      case when m.ahead then array[m.total] when m.drops then m.upto[m.gone + 1:] else m.upto end as upto
    from measured m
    offset 0
  ),
  decided as materialized (
    select k.no, k.id, k.era, k.used, k.admitted, k.since, k.oldest,
      k.drops or k.admitted > 0 as is_changed,
      case
        when k.admitted = 0 or k.at[cardinality(k.at)] >= k.entry_at then k.at
        else k.at || array[k.entry_at]
      end as at,
      case
        when k.admitted = 0 then k.upto
        when k.at[cardinality(k.at)] >= k.entry_at
          then k.upto[:cardinality(k.upto) - 1] || array[k.total + k.admitted]
        else k.upto || array[k.total + k.admitted]
      end as upto
    from kept k
  ),
  -- An era may be ahead of a clock that was set back.
  changed_state as (
    update rate_window_state w set at = d.at, upto = d.upto, since = d.since
    from decided d
    where d.is_changed and d.era >= v_era
      and w.organization_id = any (array[d.id]) and w.era >= d.era and w.era <= d.era
  ),
  begun as (
    insert into rate_window_state (organization_id, era, at, upto, since)
    select d.id, v_era, d.at, d.upto, d.since from decided d where coalesce(d.era < v_era, d.admitted > 0)
  ),
  ended as (
    delete from rate_window_state w
    using decided d
    where d.era < v_era and w.organization_id = any (array[d.id]) and w.era + 0 < v_era
  )
  select v_epoch, v_changed, false, floor(extract(epoch from v_now) * 1000)::bigint,
    array_agg(coalesce(b.balance, 0) order by d.no), array_agg(d.used order by d.no),
    array_agg(d.admitted order by d.no),
    -- As a float, which is exact to the microsecond for centuries: decimals would take longer than all other work.
    array_agg((date_part('epoch', coalesce(d.at[d.oldest] + interval '1 second', v_now)) * 1000000)::bigint order by d.no),
    v_spent
  from decided d
  left join lateral (
    select x.most - x.spent as balance from spending_limit x
    where x.organization_id = d.id and x.scope = '' and x.period = 0
    offset 0
  ) b on true;
end
$$;

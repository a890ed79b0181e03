-- Charges triggers of some organizations for the hours that they used up to the last full hour before p_at, each its
-- price for each begun hour of the time that it was active, deleted ones included. The first hour was paid at their
-- creation, and of more than one that is due, as after hours without a process, one is charged. Triggers that cannot be
-- paid pause. Those paused when out of credits resume if an hour of each can be paid beside. Returns the number of
-- organizations: one at a time, whatever p_limit allows, because requests wait for its balance meanwhile.
--
-- Locks: the balance, then the triggers, as the commit of a block and the settlement of a change lock them.
create or replace function trigger_hour_at(p_at timestamptz, p_limit integer) returns integer language plpgsql as $$
declare
  v_hour bigint := floor(extract(epoch from p_at) / 3600);
  v_until timestamptz := to_timestamp(v_hour * 3600);
  v_asked text[];
  -- Triggers with an hour that is due.
  v_due_organizations text[];
  v_due_ids text[];
  v_due_keys text[];
  v_due_credits integer[];
  v_due_active boolean[];
  -- Charges.
  v_organizations text[];
  v_keys text[];
  v_credits integer[];
  v_paid text[];
  v_unpaid text[] := '{}';
begin
  -- One at a time, so that a second call finds the hour charged.
  perform pg_advisory_xact_lock(hashtext('trigger_hour'));
  -- A separate statement, so that it sees rows committed while it waited.
  select array_agg(o.id) into v_asked
  from (
    select w.organization_id as id
    from (select organization_id from watch union select organization_id from watch_owed) w
    -- The next hour too: another server's clock may be a little behind. A later one was told by a wrong clock.
    where not exists (
        select from watch_hour h where h.organization_id = w.organization_id and h.hour in (v_hour, v_hour + 1))
      and not exists (select from feature_disabled d where d.feature = 'triggers')
    limit least(p_limit, 1)
  ) o;
  if v_asked is null then
    return 0;
  end if;
  insert into watch_hour as h (organization_id, hour) select o.id, v_hour from unnest(v_asked) o (id)
  on conflict (organization_id) do update set hour = excluded.hour;

  perform from spending_limit s where s.organization_id = any (v_asked) and s.scope = '' and s.period = 0
  for no key update;
  with moved as (
    update watch w
    set paid_until = greatest(
      w.paid_until + interval '1 hour', least(v_until, w.idle_at, w.expires_at))
    from organization o
    where o.id = w.organization_id and o.suspended_at is null and o.deleted_at is null
      and w.organization_id = any (v_asked) and w.paid_until < least(v_until, w.idle_at, w.expires_at)
      and (w.paused_for is distinct from 'credits' or w.expires_at <= p_at)
    returning w.organization_id, w.id, w.api_key_id, w.hour_credits,
      w.paused_for is null and coalesce(w.expires_at > p_at, true) as is_active
  )
  select array_agg(d.organization_id), array_agg(d.id), array_agg(d.api_key_id), array_agg(d.hour_credits),
    array_agg(d.is_active)
  into v_due_organizations, v_due_ids, v_due_keys, v_due_credits, v_due_active
  from (
    select m.organization_id, m.id, m.api_key_id, m.hour_credits, m.is_active from moved m
    union all
    select w.organization_id, w.id, w.api_key_id, w.hour_credits, false from watch_owed w
    where w.organization_id = any (v_asked)
  ) d;

  select array_agg(c.organization_id), array_agg(c.api_key_id), array_agg(c.credits)
  into v_organizations, v_keys, v_credits
  from (
    select d.organization_id, sum(d.credits)::integer as credits, bool_or(d.is_active) as is_active,
      -- That of a key without a limit of its own, if there is one.
      (array_agg(d.api_key_id order by k.credits_per_day is not null, d.api_key_id collate "C"))[1] as api_key_id
    from unnest(v_due_organizations, v_due_keys, v_due_credits, v_due_active)
      d (organization_id, api_key_id, credits, is_active)
    left join api_key k on k.organization_id = d.organization_id and k.id = d.api_key_id
    group by d.organization_id
  ) c
  join spending_limit s on s.organization_id = c.organization_id and s.scope = '' and s.period = 0
  -- What is owed for idle triggers alone waits for credits.
  where c.is_active or s.most - s.spent >= c.credits;
  if v_organizations is not null then
    select coalesce(array_agg(v_organizations[u.no]), '{}') into v_unpaid
    from unnest(trigger_charge(
      '/v1/triggers/hour', v_hour * 3600000, v_organizations, v_keys, v_credits,
      array_fill('triggers.' || v_hour, array[cardinality(v_organizations)]))) u (no);
  end if;
  v_paid := array(select u.id from unnest(v_organizations) u (id) where u.id <> all (v_unpaid));
  delete from watch_owed w where w.organization_id = any (v_paid)
    and (w.organization_id, w.id) in (select u.organization_id, u.id from unnest(v_due_organizations, v_due_ids) u (organization_id, id));
  update watch w set paid_until = w.paid_until - interval '1 hour'
  from unnest(v_due_organizations, v_due_ids) u (organization_id, id)
  where u.organization_id <> all (v_paid) and w.organization_id = u.organization_id and w.id = u.id;

  -- An hour of each: if it owes one, that is paid by it.
  select array_agg(c.organization_id), array_agg(c.api_key_id), array_agg(c.credits)
  into v_organizations, v_keys, v_credits
  from (
    select w.organization_id, sum(w.hour_credits)::integer as credits,
      (array_agg(w.api_key_id order by k.credits_per_day is not null, w.api_key_id collate "C"))[1] as api_key_id
    from watch w
    join organization o on o.id = w.organization_id and o.suspended_at is null and o.deleted_at is null
    left join api_key k on k.organization_id = w.organization_id and k.id = w.api_key_id
    where w.organization_id = any (v_asked) and w.organization_id <> all (v_unpaid)
      and w.paused_for = 'credits' and coalesce(w.expires_at > p_at, true)
    group by w.organization_id
  ) c
  join spending_limit s on s.organization_id = c.organization_id and s.scope = '' and s.period = 0
  where s.most - s.spent >= c.credits;
  if v_organizations is not null then
    select array_agg(v_organizations[o.no]) into v_paid
    from generate_series(1, cardinality(v_organizations)) o (no)
    where o.no <> all (trigger_charge(
      '/v1/triggers/hour', v_hour * 3600000, v_organizations, v_keys, v_credits,
      array_fill('triggers.' || v_hour || '.resumed', array[cardinality(v_organizations)])));
    update watch w set paused_for = null, active_at = now(), paid_until = w.paid_until + interval '1 hour'
    where w.organization_id = any (v_paid) and w.paused_for = 'credits' and coalesce(w.expires_at > p_at, true);
  end if;
  if cardinality(v_unpaid) > 0 then
    perform trigger_pause(v_unpaid);
  end if;
  return cardinality(v_asked);
end
$$;

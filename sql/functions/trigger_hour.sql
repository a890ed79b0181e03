-- Charges the hour for triggers of some organizations not charged yet, one credit each: for triggers that are not
-- paused, and older than their first hour, which was paid at their creation. Triggers paused when out of credits resume
-- if all can be paid, at any age, and triggers that cannot be paid pause. Returns the number of organizations.
-- lane background
create or replace function trigger_hour(p_hour bigint, p_limit integer) returns integer language plpgsql as $$
declare
  v_organizations text[];
  v_keys text[];
  v_credits integer[];
  v_paused boolean[];
  v_asked text[];
  v_unpaid integer[];
begin
  -- One at a time, so that a second call finds the hour charged.
  perform pg_advisory_xact_lock(hashtext('trigger_hour'));
  -- A separate statement, so that it sees rows committed while it waited.
  select array_agg(o.id) into v_asked
  from (
    select distinct w.organization_id as id
    from watch w
    where w.paused_for is distinct from 'owner' and (w.expires_at is null or w.expires_at > now())
      and not exists (
        select from watch_hour h where h.organization_id = w.organization_id and h.hour >= p_hour)
      and not exists (select from feature_disabled d where d.feature = 'triggers')
    limit p_limit
  ) o;
  if v_asked is null then
    return 0;
  end if;
  insert into watch_hour as h (organization_id, hour) select o.id, p_hour from unnest(v_asked) o (id)
  on conflict (organization_id) do update set hour = excluded.hour;

  select array_agg(c.organization_id), array_agg(c.api_key_id), array_agg(c.triggers), array_agg(c.was_paused)
  into v_organizations, v_keys, v_credits, v_paused
  from (
    select w.organization_id, count(*)::integer as triggers, bool_or(w.paused_for is not null) as was_paused,
      -- That of a key without a limit of its own, if there is one.
      (array_agg(w.api_key_id order by k.credits_per_day is not null, w.api_key_id collate "C"))[1] as api_key_id
    from watch w
    join organization o on o.id = w.organization_id and o.suspended_at is null and o.deleted_at is null
    left join api_key k on k.organization_id = w.organization_id and k.id = w.api_key_id
    where w.organization_id = any (v_asked) and w.paused_for is distinct from 'owner'
      and (w.expires_at is null or w.expires_at > now())
      and (w.paused_for is not null or w.created_at <= to_timestamp(p_hour * 3600) - interval '1 hour')
    group by w.organization_id
  ) c
  join spending_limit s on s.organization_id = c.organization_id and s.scope = '' and s.period = 0
  -- Organizations that still cannot pay are not notified again.
  where not c.was_paused or s.most - s.spent >= c.triggers;
  if v_organizations is null then
    return cardinality(v_asked);
  end if;

  v_unpaid := trigger_charge(
    '/v1/triggers/hour', p_hour * 3600000, v_organizations, v_keys, v_credits,
    array_fill('triggers.' || p_hour, array[cardinality(v_organizations)]));
  update watch w set paused_for = null, active_at = now()
  from unnest(v_organizations, v_paused) with ordinality u (organization_id, was_paused, no)
  where u.was_paused and u.no <> all (v_unpaid) and w.organization_id = u.organization_id
    and w.paused_for = 'credits';
  if cardinality(v_unpaid) > 0 then
    perform trigger_pause((select array_agg(v_organizations[u.no]) from unnest(v_unpaid) u (no)));
  end if;
  return cardinality(v_asked);
end
$$;

-- Notifies owners once that triggers of a partition are not evaluated: by each webhook, or in the feed of an
-- organization without one, after p_limit_sec. Returns the number of messages.
-- lane background
create or replace function trigger_blind(
  p_chain_id bigint, p_finality text, p_shard integer, p_epoch bigint, p_limit_sec integer, p_chain_name text
) returns integer language plpgsql as $$
declare
  v_organizations text[];
  v_webhooks text[];
  v_bodies text[];
  v_count integer;
begin
  perform from watch_cursor c
  where c.chain_id = p_chain_id and c.finality = p_finality and c.shard = p_shard and c.epoch = p_epoch for share;
  if not found then
    return 0;
  end if;
  with unseen as (
    select w.organization_id, coalesce(w.webhook_id, '') as webhook_id, count(*) as triggers,
      min(s.block) as block, min(greatest(s.at, w.active_at)) as at
    from watch w
    join organization o on o.id = w.organization_id and o.suspended_at is null and o.deleted_at is null
    left join watch_sight s on s.chain_id = w.chain_id and s.finality = w.finality and s.shard = w.shard
      and s.family = w.family
    where w.chain_id = p_chain_id and w.finality = p_finality and w.shard = p_shard and w.paused_for is null
      and (w.expires_at is null or w.expires_at > now())
      and greatest(s.at, w.active_at) < now() - make_interval(secs => p_limit_sec)
    group by 1, 2
  ),
  told as (
    insert into watch_blind as b (organization_id, chain_id, finality, shard, webhook_id, since_block, since_at)
    select u.organization_id, p_chain_id, p_finality, p_shard, u.webhook_id, u.block, u.at from unseen u
    on conflict do nothing
    returning b.organization_id, b.webhook_id
  )
  select array_agg(u.organization_id), array_agg(u.webhook_id), array_agg(json_build_object(
    'type', 'trigger.blind',
    'timestamp', to_char(now() at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
    'text', format('%s on %s could not be evaluated since %s UTC.',
      case u.triggers when 1 then '1 trigger' else u.triggers || ' triggers' end, p_chain_name,
      to_char(u.at at time zone 'utc', 'YYYY-MM-DD HH24:MI:SS')),
    'data', json_build_object('chain_id', p_chain_id, 'finality', p_finality, 'triggers', u.triggers,
      'since', json_build_object('block', u.block::text,
        'at', to_char(u.at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))))::text)
  into v_organizations, v_webhooks, v_bodies
  from unseen u
  join told t on t.organization_id = u.organization_id and t.webhook_id = u.webhook_id;
  v_count := coalesce(cardinality(v_organizations), 0);
  if v_count > 0 then
    perform message_add(
      v_organizations, array_fill(''::text, array[v_count]), array_fill(0::bigint, array[v_count]),
      array_fill('trigger.blind'::text, array[v_count]), v_bodies, v_webhooks);
  end if;
  return v_count;
end
$$;

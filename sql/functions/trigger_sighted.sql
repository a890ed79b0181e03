-- Notifies owners once that blind triggers of a partition are evaluated again. Triggers that are not to be evaluated any
-- more (paused, expired, moved) cease to be blind without a message.
create or replace function trigger_sighted(
  p_chain_id bigint, p_finality text, p_shard integer, p_block bigint, p_limit_sec integer, p_chain_name text
) returns void language plpgsql as $$
declare
  v_organizations text[];
  v_webhooks text[];
  v_bodies text[];
begin
  with ended as (
    delete from watch_blind_trigger b
    where b.chain_id = p_chain_id and b.finality = p_finality and b.shard = p_shard
      and not exists (
        select from watch w
        left join watch_sight s on s.chain_id = w.chain_id and s.finality = w.finality and s.shard = w.shard
          and s.family = w.family
        where w.organization_id = b.organization_id and w.id = b.id and w.finality = b.finality and w.shard = b.shard
          and w.paused_for is null and (w.expires_at is null or w.expires_at > now())
          and (
            not coalesce(
              s.block >= b.since_block, greatest(s.at, w.active_at) >= now() - make_interval(secs => p_limit_sec))
            or exists (select from watch_unseen u where u.organization_id = w.organization_id and u.id = w.id)
          ))
    returning b.organization_id, b.id, b.since_block, b.since_at
  ),
  seen as (
    select e.organization_id, coalesce(w.webhook_id, '') as webhook_id, count(*) as triggers,
      min(e.since_block) as block, min(e.since_at) as at, (array_agg(e.id order by e.id))[1:100] as ids
    from ended e
    join watch w on w.organization_id = e.organization_id and w.id = e.id and w.finality = p_finality
      and w.paused_for is null and (w.expires_at is null or w.expires_at > now())
    group by 1, 2
  )
  select array_agg(s.organization_id), array_agg(s.webhook_id), array_agg(json_build_object(
    'type', 'trigger.sighted',
    'timestamp', to_char(now() at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
    'text', format('%s again from block %s on%s.',
      case s.triggers
        when 1 then format('1 trigger on %s is evaluated', p_chain_name)
        else format('%s triggers on %s are evaluated', s.triggers, p_chain_name)
      end,
      p_block,
      case
        when s.block = p_block then ''
        else format(', but changes since %s UTC that undid themselves were not seen',
          to_char(s.at at time zone 'utc', 'YYYY-MM-DD HH24:MI:SS'))
      end),
    'data', json_build_object('chain_id', p_chain_id, 'finality', p_finality, 'triggers', s.triggers,
      'trigger_ids', s.ids,
      'since', json_build_object('block', s.block::text,
        'at', to_char(s.at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')),
      'block', p_block::text))::text)
  into v_organizations, v_webhooks, v_bodies
  from seen s;
  if v_organizations is not null then
    perform message_add(
      v_organizations, array_fill(''::text, array[cardinality(v_organizations)]),
      array_fill(0::bigint, array[cardinality(v_organizations)]),
      array_fill('trigger.sighted'::text, array[cardinality(v_organizations)]), v_bodies, v_webhooks);
  end if;
end
$$;

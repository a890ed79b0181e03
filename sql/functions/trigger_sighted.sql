-- Notifies owners once that triggers of a partition are evaluated again, if they were notified before and no trigger of
-- theirs is blind any more.
create or replace function trigger_sighted(
  p_chain_id bigint, p_finality text, p_shard integer, p_block bigint, p_limit_sec integer, p_chain_name text
) returns void language plpgsql as $$
declare
  v_organizations text[];
  v_webhooks text[];
  v_bodies text[];
begin
  with seen as (
    delete from watch_blind b
    where b.chain_id = p_chain_id and b.finality = p_finality and b.shard = p_shard
      and not exists (
        select from watch w
        left join watch_sight s on s.chain_id = w.chain_id and s.finality = w.finality and s.shard = w.shard
          and s.family = w.family
        where w.organization_id = b.organization_id and w.chain_id = b.chain_id and w.finality = b.finality
          and w.shard = b.shard and coalesce(w.webhook_id, '') = b.webhook_id and w.paused_for is null
          and (w.expires_at is null or w.expires_at > now())
          and greatest(s.at, w.active_at) < now() - make_interval(secs => p_limit_sec))
    returning b.organization_id, b.webhook_id, b.since_block, b.since_at
  )
  select array_agg(s.organization_id), array_agg(s.webhook_id), array_agg(json_build_object(
    'type', 'trigger.sighted',
    'timestamp', to_char(now() at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
    'text', format(
      'Triggers on %s are evaluated again from block %s on, but changes since %s UTC that undid themselves were not seen.',
      p_chain_name, p_block, to_char(s.since_at at time zone 'utc', 'YYYY-MM-DD HH24:MI:SS')),
    'data', json_build_object('chain_id', p_chain_id, 'finality', p_finality,
      'since', json_build_object('block', s.since_block::text,
        'at', to_char(s.since_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')),
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

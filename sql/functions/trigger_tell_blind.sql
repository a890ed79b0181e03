-- Notifies owners once that triggers are not evaluated: by each webhook, or in the feed of an organization without one.
-- Arrays have an element per trigger: the first block that was left out, null if the chain was never evaluated, and
-- since when. Returns the number of messages.
create or replace function trigger_tell_blind(
  p_chain_id bigint, p_finality text, p_shard integer, p_chain_name text,
  p_organizations text[], p_ids text[], p_blocks bigint[], p_ats timestamptz[]
) returns integer language plpgsql as $$
declare
  v_organizations text[];
  v_webhooks text[];
  v_bodies text[];
  v_count integer;
begin
  with told as (
    insert into watch_blind_trigger as b (organization_id, id, chain_id, finality, shard, since_block, since_at)
    select w.organization_id, w.id, p_chain_id, p_finality, p_shard, u.block, u.at
    from unnest(p_organizations, p_ids, p_blocks, p_ats) u (organization_id, id, block, at)
    join watch w on w.organization_id = u.organization_id and w.id = u.id
    order by w.organization_id, w.id
    for key share of w
    on conflict (organization_id, id) do update
    set chain_id = excluded.chain_id, finality = excluded.finality, shard = excluded.shard,
      since_block = excluded.since_block, since_at = excluded.since_at
    -- It moved here from another partition.
    where (b.chain_id, b.finality, b.shard) <> (excluded.chain_id, excluded.finality, excluded.shard)
    returning b.organization_id, b.id, b.since_block, b.since_at
  ),
  grouped as (
    select t.organization_id, coalesce(w.webhook_id, '') as webhook_id, count(*) as triggers,
      min(t.since_block) as block, min(t.since_at) as at, (array_agg(t.id order by t.id))[1:100] as ids
    from told t
    join watch w on w.organization_id = t.organization_id and w.id = t.id
    group by 1, 2
  )
  select array_agg(g.organization_id), array_agg(g.webhook_id), array_agg(json_build_object(
    'type', 'trigger.blind',
    'timestamp', to_char(now() at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
    'text', format('%s on %s could not be evaluated since %s UTC.',
      case g.triggers when 1 then '1 trigger' else g.triggers || ' triggers' end, p_chain_name,
      to_char(g.at at time zone 'utc', 'YYYY-MM-DD HH24:MI:SS')),
    'data', json_build_object('chain_id', p_chain_id, 'finality', p_finality, 'triggers', g.triggers,
      'trigger_ids', g.ids,
      'since', json_build_object('block', g.block::text,
        'at', to_char(g.at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))))::text)
  into v_organizations, v_webhooks, v_bodies
  from grouped g;
  v_count := coalesce(cardinality(v_organizations), 0);
  if v_count > 0 then
    perform message_add(
      v_organizations, array_fill(''::text, array[v_count]), array_fill(0::bigint, array[v_count]),
      array_fill('trigger.blind'::text, array[v_count]), v_bodies, v_webhooks);
  end if;
  return v_count;
end
$$;

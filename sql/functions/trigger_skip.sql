-- Notifies owners at once that blocks of a partition from p_block on are left out for triggers of figures of some
-- families, because nothing can be read at them or they are too many. The first commit after them that evaluates the
-- family notifies of the sight again. Events of left out blocks are still found. Returns the number of messages.
-- lane background
create or replace function trigger_skip(
  p_chain_id bigint, p_finality text, p_shard integer, p_epoch bigint, p_block bigint, p_families text[],
  p_chain_name text
) returns integer language plpgsql as $$
declare
  v_organizations text[];
  v_ids text[];
  v_blocks bigint[];
  v_ats timestamptz[];
begin
  perform from watch_cursor c
  where c.chain_id = p_chain_id and c.finality = p_finality and c.shard = p_shard and c.epoch = p_epoch for share;
  if not found then
    return 0;
  end if;
  select array_agg(w.organization_id), array_agg(w.id), array_agg(p_block), array_agg(greatest(s.at, w.active_at))
  into v_organizations, v_ids, v_blocks, v_ats
  from watch w
  join organization o on o.id = w.organization_id and o.suspended_at is null and o.deleted_at is null
  join watch_sight s on s.chain_id = w.chain_id and s.finality = w.finality and s.shard = w.shard
    and s.family = w.family
  where w.chain_id = p_chain_id and w.finality = p_finality and w.shard = p_shard and w.paused_for is null
    and (w.expires_at is null or w.expires_at > now()) and not w.clause ? 'event' and w.family = any (p_families)
    and not exists (
      select from watch_blind_trigger b
      where b.organization_id = w.organization_id and b.id = w.id and b.finality = w.finality and b.shard = w.shard);
  if v_ids is null then
    return 0;
  end if;
  return trigger_tell_blind(
    p_chain_id, p_finality, p_shard, p_chain_name, v_organizations, v_ids, v_blocks, v_ats);
end
$$;

-- Records which triggers of a partition were left out at a block (p_organizations, p_ids), and which of those left out
-- before were evaluated again (p_seen_organizations, p_seen_ids). Records nothing unless p_epoch holds the lease.
-- lane background
create or replace function trigger_unseen(
  p_chain_id bigint, p_finality text, p_shard integer, p_epoch bigint, p_block bigint,
  p_organizations text[], p_ids text[], p_seen_organizations text[], p_seen_ids text[]
) returns void language plpgsql as $$
begin
  perform from watch_cursor c
  where c.chain_id = p_chain_id and c.finality = p_finality and c.shard = p_shard and c.epoch = p_epoch for share;
  if not found then
    return;
  end if;
  delete from watch_unseen u
  using unnest(p_seen_organizations, p_seen_ids) s (organization_id, id)
  where u.organization_id = s.organization_id and u.id = s.id;
  insert into watch_unseen (organization_id, id, since_block)
  select w.organization_id, w.id, p_block
  from unnest(p_organizations, p_ids) n (organization_id, id)
  join watch w on w.organization_id = n.organization_id and w.id = n.id
  order by w.organization_id, w.id
  for key share of w
  on conflict do nothing;
end
$$;

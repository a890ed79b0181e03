-- Takes or renews a process's lease on a partition. Returns no row if another process has it, else the epoch and the
-- last evaluated block of the partition: -1, '' and 0 before the first.
-- lane background
create or replace function trigger_take(
  p_chain_id bigint, p_finality text, p_shard integer, p_holder text, p_sec integer
) returns table (epoch bigint, block bigint, block_hash text, block_sec bigint) language plpgsql as $$
#variable_conflict use_column
begin
  return query
  insert into watch_cursor as c (chain_id, finality, shard, holder, lease_until)
  values (p_chain_id, p_finality, p_shard, p_holder, clock_timestamp() + make_interval(secs => p_sec))
  on conflict (chain_id, finality, shard) do update
  set holder = excluded.holder, lease_until = excluded.lease_until,
    epoch = c.epoch + case when c.holder = excluded.holder then 0 else 1 end
  where c.holder = excluded.holder or c.lease_until <= clock_timestamp()
  returning c.epoch, coalesce(c.block, -1), coalesce(encode(c.block_hash, 'hex'), ''),
    coalesce(extract(epoch from c.block_at), 0)::bigint;
end
$$;

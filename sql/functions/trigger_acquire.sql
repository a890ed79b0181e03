-- Acquires or renews a process's lease on a partition. With p_sec 0 the process offers the lease to the others, and keeps
-- it until one takes it. A process takes the lease of another only p_patience_sec after its end, so that those that
-- could not evaluate leave it to those that may. Returns no row if another process has it, else the epoch and the last
-- evaluated block of the partition: -1, '' and 0 before the first.
-- lane background
create or replace function trigger_acquire(
  p_chain_id bigint, p_finality text, p_shard integer, p_holder text, p_sec integer, p_patience_sec integer
) returns table (epoch bigint, block bigint, block_hash text, block_sec bigint) language plpgsql as $$
#variable_conflict use_column
begin
  return query
  insert into watch_cursor as c (chain_id, finality, shard, holder, lease_until)
  values (p_chain_id, p_finality, p_shard, p_holder, clock_timestamp() + make_interval(secs => p_sec))
  on conflict (chain_id, finality, shard) do update
  set holder = excluded.holder,
    lease_until = case p_sec when 0 then least(c.lease_until, excluded.lease_until) else excluded.lease_until end,
    epoch = c.epoch + case when c.holder = excluded.holder then 0 else 1 end
  where c.holder = excluded.holder or c.lease_until + make_interval(secs => p_patience_sec) <= clock_timestamp()
  returning c.epoch, coalesce(c.block, -1), coalesce(encode(c.block_hash, 'hex'), ''),
    coalesce(extract(epoch from c.block_at), 0)::bigint;
end
$$;

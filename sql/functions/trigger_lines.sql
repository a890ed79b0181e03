-- Lists partitions with triggers, of any chain; none if the operator switched triggers off. One index look-up for each,
-- regardless of the number of triggers.
-- lane background
create or replace function trigger_lines() returns table (chain_id bigint, finality text, shard integer)
language sql stable as $$
  with recursive line as (
    (select w.chain_id, w.finality, w.shard from watch w order by w.chain_id, w.finality, w.shard limit 1)
    union all
    select n.chain_id, n.finality, n.shard
    from line l
    cross join lateral (
      select w.chain_id, w.finality, w.shard from watch w
      where (w.chain_id, w.finality, w.shard) > (l.chain_id, l.finality, l.shard)
      order by w.chain_id, w.finality, w.shard limit 1
    ) n
  )
  select l.chain_id, l.finality, l.shard::integer from line l
  where not exists (select from feature_disabled d where d.feature = 'triggers')
$$;

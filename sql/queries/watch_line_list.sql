-- Lines of these chains that have triggers; none if the operator switched triggers off.
-- $1 chain_ids text[]
-- chain_id not null
-- finality not null
-- shard not null
select c.id as chain_id, f.name as finality, 0::smallint as shard
from unnest($1::text[]::bigint[]) c (id)
cross join unnest(array['latest', 'safe', 'finalized']) f (name)
where exists (select from watch w where w.chain_id = c.id and w.finality = f.name and w.shard = 0)
  and not exists (select from feature_disabled d where d.feature = 'triggers')

-- Lists the newest evaluated blocks of a partition.
-- lane background
-- $1 chain_id bigint
-- $2 finality text
-- $3 shard smallint
-- not null hash
select b.number, encode(b.hash, 'hex') as hash
from watch_block b
where b.chain_id = $1 and b.finality = $2 and b.shard = $3
order by b.number desc
limit 1000

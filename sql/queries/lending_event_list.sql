-- Lists one page of a wallet's lending events, newest first, with their total and whether all are stored.
-- A stored time of 0 stands for none: earlier releases believed endpoints that sent it.
-- lane copy
-- $1 chain_id bigint
-- $2 contract text, hexadecimal without prefix as all bytes here
-- $3 stream text
-- $4 wallet text
-- $5 from_block bigint, the first block that must be complete
-- $6 to_block bigint, the last one
-- $7 kinds text[]
-- $8 market text | null, the only one of the place
-- $9 max bigint
-- $10 skip bigint
-- not null covered, total
-- null block, log_index, leg, kind, asset, amount, tx_hash
with place as (
  select p.id from history_place p where p.chain_id = $1 and p.contract = decode($2, 'hex')
),
event as (
  select e.market, e.block, e.log_index, e.leg, e.kind, e.asset, e.amount, e.counterparty, e.tx_hash, e.time, e.index_ray
  from place join lending_event e on e.place = place.id
  where e.wallet = decode($4, 'hex') and e.block between $5 and $6 and e.kind = any ($7)
    and ($8::text is null or e.market = decode($8, 'hex'))
),
fact as (
  select
    coalesce((
      select range_agg(c.blocks) @> int8range($5, $6, '[]')
      from place join history_coverage c on c.place = place.id
      where c.stream = $3 and c.subject in (decode($4, 'hex'), '')
    ), false) as covered,
    (select count(*) from event) as total
)
select f.covered, f.total, e.market, e.block, e.log_index, e.leg, e.kind, e.asset, e.amount, e.counterparty, e.tx_hash,
  nullif(e.time, 0) as time, e.index_ray
from fact f
left join (
  select v.market, v.block, v.log_index, v.leg, v.kind, v.asset, v.amount, v.counterparty, v.tx_hash, v.time, v.index_ray
  from event v
  order by v.block desc, v.log_index desc, v.leg
  limit $9 offset $10
) e on true
order by e.block desc, e.log_index desc, e.leg

-- Lists one page of what changed a wallet's shares in a vault, newest first, with their total and whether all are stored.
-- lane copy
-- $1 chain_id bigint
-- $2 contract text, hexadecimal without prefix as all bytes here
-- $3 stream text
-- $4 wallet text
-- $5 from_block bigint, the first block that must be complete
-- $6 to_block bigint, the last one
-- $7 max bigint
-- $8 skip bigint
-- not null covered, total
-- null block, log_index, kind, shares, counterparty, tx_hash
with place as (
  select p.id from history_place p where p.chain_id = $1 and p.contract = decode($2, 'hex')
),
flow as (
  select v.block, v.log_index, v.kind, v.shares, v.assets, v.counterparty, v.tx_hash, v.time
  from place join vault_flow v on v.place = place.id
  where v.wallet = decode($4, 'hex') and v.block between $5 and $6
),
fact as (
  select
    coalesce((
      select range_agg(c.blocks) @> int8range($5, $6, '[]')
      from place join history_coverage c on c.place = place.id
      where c.stream = $3 and c.subject in (decode($4, 'hex'), '')
    ), false) as covered,
    (select count(*) from flow) as total
)
select f.covered, f.total, e.block, e.log_index, e.kind, e.shares, e.assets, e.counterparty, e.tx_hash, e.time
from fact f
left join (
  select v.block, v.log_index, v.kind, v.shares, v.assets, v.counterparty, v.tx_hash, v.time
  from flow v
  order by v.block desc, v.log_index desc
  limit $7 offset $8
) e on true
order by e.block desc, e.log_index desc

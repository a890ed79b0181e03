-- What a wallet entered of a place up to a block, such as markets, with whether all of them are here.
-- $1 chain_id bigint
-- $2 contract text, hexadecimal without prefix as all bytes here
-- $3 stream text
-- $4 wallet text
-- $5 from_block bigint, the first block that must be complete
-- $6 to_block bigint, the last one
-- covered not null
-- entry null
with place as (
  select p.id from history_place p where p.chain_id = $1 and p.contract = decode($2, 'hex')
),
fact as (
  select coalesce((
    select range_agg(c.blocks) @> int8range($5, $6, '[]')
    from place join history_coverage c on c.place = place.id
    where c.stream = $3 and c.subject in (decode($4, 'hex'), '')
  ), false) as covered
)
select f.covered, e.entry
from fact f
left join (
  select w.entry
  from place join wallet_entry w on w.place = place.id
  where w.wallet = decode($4, 'hex') and w.block <= $6
) e on true
order by e.entry

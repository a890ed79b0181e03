-- Lists a page of what a contract logged of a wallet's liquidity positions that it held, oldest first, with whether all are
-- stored. A stored time of 0 stands for none.
-- lane copy
-- $1 chain_id bigint
-- $2 contract text, hexadecimal without prefix as all bytes here
-- $3 stream text
-- $4 subject text, the wallet
-- $5 from_block bigint, the first block that must be complete
-- $6 to_block bigint, the last one
-- $7 max bigint
-- $8 after_block bigint, where the page before ended
-- $9 after_log_index integer
-- not null covered
-- null block, log_index, kind, amount, tx_hash
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
select f.covered, e.block, e.log_index, e.kind, e.token_id, e.amount, e.tx_hash, nullif(e.time, 0) as time
from fact f
left join (
  select v.block, v.log_index, v.kind, v.token_id, v.amount, v.tx_hash, v.time
  from place join custody_event v on v.place = place.id
  where v.wallet = decode($4, 'hex') and v.block between $5 and $6 and (v.block, v.log_index) > ($8, $9)
  order by v.block, v.log_index
  limit $7
) e on true
order by e.block, e.log_index

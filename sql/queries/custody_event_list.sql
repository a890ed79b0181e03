-- Lists a page of what a contract logged of a liquidity position that it held, oldest first, with whether all are stored.
-- A stored time of 0 stands for none: earlier releases believed endpoints that sent it.
-- lane copy
-- $1 chain_id bigint
-- $2 contract text, hexadecimal without prefix as all bytes here
-- $3 stream text
-- $4 subject text, the token id in 32 bytes
-- $5 token_id numeric
-- $6 from_block bigint, the first block that must be complete
-- $7 to_block bigint, the last one
-- $8 max bigint
-- $9 after_block bigint, where the page before ended
-- $10 after_log_index integer
-- not null covered
-- null block, log_index, kind, wallet, amount, tx_hash
with place as (
  select p.id from history_place p where p.chain_id = $1 and p.contract = decode($2, 'hex')
),
fact as (
  select coalesce((
    select range_agg(c.blocks) @> int8range($6, $7, '[]')
    from place join history_coverage c on c.place = place.id
    where c.stream = $3 and c.subject in (decode($4, 'hex'), '')
  ), false) as covered
)
select f.covered, e.block, e.log_index, e.kind, e.wallet, e.token, e.amount, e.tx_hash, nullif(e.time, 0) as time
from fact f
left join (
  select v.block, v.log_index, v.kind, v.wallet, v.token, v.amount, v.tx_hash, v.time
  from place join custody_event v on v.place = place.id
  where v.token_id = $5 and v.block between $6 and $7 and (v.block, v.log_index) > ($9, $10)
  order by v.block, v.log_index
  limit $8
) e on true
order by e.block, e.log_index

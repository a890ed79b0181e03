-- Lists the blocks of a chain's midnights from one day to another, both included.
-- lane read
-- $1 chain_id bigint
-- $2 from_day integer
-- $3 to_day integer
-- not null hash, parent_hash
select m.day, m.block, encode(m.hash, 'hex') as hash, encode(m.parent_hash, 'hex') as parent_hash, m.time, m.is_final,
  m.witnesses
from midnight m
where m.chain_id = $1 and m.day between $2 and $3
order by m.day

-- Lists midnights of a chain whose block is not final yet, oldest first.
-- lane background
-- $1 chain_id bigint
-- $2 max bigint
select m.day, m.block
from midnight m
where m.chain_id = $1 and not m.is_final
order by m.day
limit $2

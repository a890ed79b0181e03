-- Finds a followed wallet of a target, bytes in hexadecimal without prefix; no row if it was never requested.
-- lane copy
-- $1 chain_id bigint
-- $2 name text
-- $3 wallet text
select s.first_day, s.witnesses
from history_place p
join snapshot_series s on s.place = p.id
where p.chain_id = $1 and p.contract = decode($2, 'hex') and s.wallet = decode($3, 'hex')

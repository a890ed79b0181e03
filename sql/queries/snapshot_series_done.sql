-- Records a midnight as taken for wallets of a target that are still leased, bytes in hexadecimal without prefix.
-- lane background
-- $1 chain_id bigint
-- $2 name text
-- $3 wallets text[]
-- $4 holder text
-- $5 day integer
with released as materialized (
  select p.id as place, decode(u.wallet, 'hex') as wallet
  from history_place p
  cross join unnest($3::text[]) u (wallet)
  where p.chain_id = $1 and p.contract = decode($2, 'hex')
    and lease_release('snapshot_series', concat_ws(':', p.id, lower(u.wallet)), $4)
)
update snapshot_series s
set taken_day = $5
from released r
where s.place = r.place and s.wallet = r.wallet and s.taken_day < $5

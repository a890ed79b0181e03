-- Notes that a midnight was taken for wallets of a market, bytes in hexadecimal without prefix.
-- $1 chain_id bigint
-- $2 contract text
-- $3 wallets text[]
-- $4 day integer
update lending_series s
set taken_day = $4, lease_until = null
from history_place p
where p.chain_id = $1 and p.contract = decode($2, 'hex') and s.place = p.id
  and s.wallet = any (array(select decode(u.wallet, 'hex') from unnest($3::text[]) u (wallet)))
  and s.taken_day < $4

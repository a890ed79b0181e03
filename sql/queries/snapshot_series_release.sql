-- Gives back leases on wallets of a target, bytes in hexadecimal without prefix.
-- lane background
-- $1 chain_id bigint
-- $2 name text
-- $3 wallets text[]
-- $4 holder text
select u.wallet
from history_place p
cross join unnest($3::text[]) u (wallet)
where p.chain_id = $1 and p.contract = decode($2, 'hex')
  and lease_release('snapshot_series', concat_ws(':', p.id, lower(u.wallet)), $4)

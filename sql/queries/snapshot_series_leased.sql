-- Tells when the first of the leases ends on wallets of a target whose next midnight is due, in milliseconds from now;
-- no row if none is leased, or while snapshots are switched off.
-- lane background
-- $1 chain_id bigint
-- $2 name text, hexadecimal without prefix
-- $3 day integer
-- not null ms
select greatest(0, ceil(extract(epoch from l.until - now()) * 1000))::integer as ms
from history_place p
join snapshot_series s on s.place = p.id
join lease l on l.job = 'snapshot_series' and l.subject = concat_ws(':', s.place, encode(s.wallet, 'hex'))
where p.chain_id = $1 and p.contract = decode($2, 'hex') and s.taken_day < $3
  and not exists (select from feature_disabled f where f.feature = 'snapshots')
order by l.until
limit 1

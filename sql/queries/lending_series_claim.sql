-- Takes wallets of a market whose next midnight nobody takes yet, for a while, unless snapshots are switched off.
-- $1 chain_id bigint
-- $2 contract text, hexadecimal without prefix
-- $3 day integer
-- $4 lease_seconds integer
-- $5 max bigint
-- wallet not null
with due as (
  select s.wallet, s.place
  from history_place p
  join lending_series s on s.place = p.id
  where p.chain_id = $1 and p.contract = decode($2, 'hex') and s.taken_day < $3
    and (s.lease_until is null or s.lease_until < now())
    and not exists (select from feature_disabled f where f.feature = 'snapshots')
  order by s.wallet
  limit $5
  for update of s skip locked
)
update lending_series s
set lease_until = now() + make_interval(secs => $4::integer)
from due
where s.wallet = due.wallet and s.place = due.place
returning encode(s.wallet, 'hex') as wallet

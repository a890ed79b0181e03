-- Leases wallets of a target whose next midnight no process has leased, unless snapshots are switched off.
-- lane background
-- $1 chain_id bigint
-- $2 name text, hexadecimal without prefix
-- $3 day integer
-- $4 holder text
-- $5 sec integer
-- $6 max bigint
-- not null wallet
with due as materialized (
  select d.wallet, d.subject
  from (
    select encode(s.wallet, 'hex') as wallet, concat_ws(':', s.place, encode(s.wallet, 'hex')) as subject
    from history_place p
    join snapshot_series s on s.place = p.id
    where p.chain_id = $1 and p.contract = decode($2, 'hex') and s.taken_day < $3
      and not exists (select from feature_disabled f where f.feature = 'snapshots')
  ) d
  where not exists (select from lease l where l.job = 'snapshot_series' and l.subject = d.subject and l.until > now())
  order by d.wallet
)
-- The limit applies to the leases that succeed.
select d.wallet from due d where lease_take('snapshot_series', d.subject, $4, $5) limit $6

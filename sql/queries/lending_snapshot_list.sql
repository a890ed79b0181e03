-- Lists a wallet's snapshots in a market, oldest first; null values if the market could not be valued at that midnight.
-- lane copy
-- $1 chain_id bigint
-- $2 contract text, hexadecimal without prefix as the wallet
-- $3 wallet text
-- $4 max bigint, the newest ones
select d.day, d.collateral, d.debt, d.net_worth, d.health_factor, d.witnesses
from (
  select s.day, s.collateral::text as collateral, s.debt::text as debt, s.net_worth::text as net_worth,
    s.health_factor::text as health_factor, s.witnesses
  from history_place p
  join lending_snapshot s on s.place = p.id
  where p.chain_id = $1 and p.contract = decode($2, 'hex') and s.wallet = decode($3, 'hex')
  order by s.day desc
  limit $4
) d
order by d.day

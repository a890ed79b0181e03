-- Lists a wallet's portfolio snapshots on a chain, oldest first.
-- lane copy
-- $1 chain_id bigint
-- $2 name text, hexadecimal without prefix as the wallet
-- $3 wallet text
-- $4 max bigint, the newest ones
-- not null assets, debt, held, liquidity, supplied
select d.day, d.net_worth, d.assets, d.debt, d.held, d.liquidity, d.supplied, d.unpriced, d.row_count, d.gaps,
  d.witnesses
from (
  select s.day, s.net_worth::text as net_worth, s.assets::text as assets, s.debt::text as debt, s.held::text as held,
    s.liquidity::text as liquidity, s.supplied::text as supplied, s.unpriced, s.row_count, s.gaps,
    s.witnesses
  from history_place p
  join portfolio_snapshot s on s.place = p.id
  where p.chain_id = $1 and p.contract = decode($2, 'hex') and s.wallet = decode($3, 'hex')
  order by s.day desc
  limit $4
) d
order by d.day

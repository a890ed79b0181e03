-- What a wallet's balances depend on besides the events that answers show: aTokens sent and received, supply and debt
-- that changed for another reason. They prove that no event is missing, and say when a wallet's history began.
alter table lending_event drop constraint lending_event_kind_check;
alter table lending_event add constraint lending_event_kind_check check (
  kind in (
    'supply', 'withdraw', 'borrow', 'repay', 'liquidation', 'send', 'receive',
    'raise_supply', 'lower_supply', 'raise_debt', 'lower_debt'
  )
);
-- The reserve's index that the wallet's balance was written down with, in ray; null if it had none.
alter table lending_event add column index_ray numeric(39, 0);

-- Prices of tokens at final blocks, each found once, when it was first shown.
create table price_at (
  chain_id bigint not null,
  -- The contract that configuration names for the token: a market's provider, a feed, an oracle; or 'stablecoin'.
  asker text not null,
  token bytea not null,
  block bigint not null,
  -- US dollars for a whole token: units with so many decimals.
  units numeric(78, 0) not null check (units > 0),
  scale smallint not null,
  -- What gave it: a feed, an oracle, or the list of stablecoins.
  source text not null check (source in ('feed', 'aave_oracle', 'stablecoin')),
  -- Where it was found: in the state of the block, or among the rounds that a feed keeps.
  evidence text not null check (evidence in ('state', 'round')),
  primary key (chain_id, asker, token, block)
);

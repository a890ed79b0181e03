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
  -- How many different endpoints gave it.
  witnesses smallint not null default 1,
  primary key (chain_id, asker, token, block)
);

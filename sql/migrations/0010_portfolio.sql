-- What wallets were worth at each midnight.

-- Wallets whose snapshots somebody asked for, of lending markets and of portfolios.
alter table lending_series rename to snapshot_series;

-- US dollars with 6 digits, as the route of a past moment answers them. The place is a chain and, for a contract, the
-- hash of all that was asked for there: what another list of tokens gives has rows of its own.
create table portfolio_snapshot (
  wallet bytea not null,
  place integer not null,
  day integer not null,
  net_worth numeric not null,
  assets numeric not null,
  -- What is borrowed.
  debt numeric not null,
  -- The parts of the assets: in the wallet itself, in liquidity positions, supplied to lending markets.
  held numeric not null,
  liquidity numeric not null,
  supplied numeric not null,
  -- Rows without a price, and all rows whether they count or not.
  unpriced integer not null,
  row_count integer not null,
  -- How many different endpoints gave it: figures that more of them give take its place.
  witnesses smallint not null default 1,
  primary key (wallet, place, day)
);

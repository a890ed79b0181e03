-- Daily snapshots of what wallets have in lending markets, read at the last block at or before each UTC midnight.

-- That block, once for a whole chain.
create table midnight (
  chain_id bigint not null,
  -- Days since the Unix epoch, of the day that the midnight begins.
  day integer not null,
  block bigint not null,
  hash bytea not null,
  parent_hash bytea not null,
  -- Of the block, Unix seconds.
  time bigint not null,
  -- False as long as another block may take its place. Its row and the snapshots of that midnight then go.
  is_final boolean not null,
  primary key (chain_id, day)
);

-- Wallets in markets whose snapshots somebody asked for.
create table lending_series (
  wallet bytea not null,
  place smallint not null references history_place (id),
  -- Day of the first midnight after the wallet's first token movement in the market; null as long as no endpoint
  -- reaches back to it.
  first_day integer,
  -- The last midnight that was taken for it right after it had passed.
  taken_day integer not null default 0,
  -- Until then one process takes the next midnight, and the others leave it alone.
  lease_until timestamptz,
  primary key (wallet, place)
);

-- US dollars with 6 digits, the health factor with 4, as the live route answers them. All null if the market could not
-- be valued at that block. Never changed.
create table lending_snapshot (
  wallet bytea not null,
  place smallint not null,
  day integer not null,
  collateral numeric,
  debt numeric,
  net_worth numeric,
  -- Null without debt.
  health_factor numeric,
  primary key (wallet, place, day)
);

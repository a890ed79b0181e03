-- What wallets did in lending markets, and what they had there at each midnight.

-- What changed a wallet's balances. Besides the events that answers show these are aTokens sent and received, and supply
-- and debt that changed for another reason: they prove that no event is missing, and say when a wallet's history began. A
-- liquidation is two rows of one log, told apart by their leg. Rows are found by blocks too, which lie together as they
-- were stored: what is read again replaces what is there.
create table lending_event (
  wallet bytea not null,
  -- Which market of the place; null if the place is one market.
  market bytea,
  log_index integer not null,
  leg smallint not null,
  -- As LENDING_EVENT_KINDS of the program names it.
  kind text not null,
  asset bytea not null,
  -- In units of the asset.
  amount numeric(78, 0) not null check (amount >= 0),
  counterparty bytea,
  tx_hash bytea not null,
  -- Unix seconds; null if no endpoint gave it with the log.
  time bigint,
  -- The reserve's index that the wallet's balance was written down with, in ray; null if it had none.
  index_ray numeric(39, 0),
  primary key (wallet, place, block, log_index, leg)
) inherits (history_row);

create index lending_event_block on lending_event using brin (block);

-- Wallets in markets whose snapshots somebody asked for.
create table lending_series (
  wallet bytea not null,
  place integer not null references history_place (id),
  -- Day of the first midnight after the wallet's first token movement in the market; null as long as no endpoint
  -- reaches back to it.
  first_day integer,
  -- The last midnight that was taken for it right after it had passed.
  taken_day integer not null default 0,
  -- How many different endpoints gave the first day.
  witnesses smallint not null default 1,
  primary key (wallet, place)
);

-- US dollars with 6 digits, the health factor with 4, as the live route answers them. All null if the market could not
-- be valued at that block.
create table lending_snapshot (
  wallet bytea not null,
  place integer not null,
  day integer not null,
  collateral numeric,
  debt numeric,
  net_worth numeric,
  -- Null without debt.
  health_factor numeric,
  -- How many different endpoints gave it: figures that more of them give take its place.
  witnesses smallint not null default 1,
  primary key (wallet, place, day)
);

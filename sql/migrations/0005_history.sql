-- Finalized history, stored once: what the logs of a stream mean, and for whom and which blocks all of it is here.
-- Nothing in these tables may ever change by a reorganization; what is not final yet is read with each answer.

-- The newest block of a chain that history was built on. Whenever history grows it is compared with what the endpoints
-- say; if it is not theirs any more, the chain's history stops.
create table history_chain (
  chain_id bigint primary key,
  anchor_number bigint not null,
  anchor_hash bytea not null,
  -- Set at the mismatch; nothing is stored for the chain while it is set.
  stopped_at timestamptz
);

-- A contract whose history is followed, by a short name for the millions of rows that belong to it.
create table history_place (
  id smallint generated always as identity primary key,
  chain_id bigint not null,
  contract bytea not null,
  unique (chain_id, contract)
);

-- For which blocks all rows of a subject are stored.
create table history_coverage (
  -- A wallet, a token id, or '' for everybody.
  subject bytea not null,
  place smallint not null references history_place (id),
  stream text not null,
  blocks int8multirange not null default '{}',
  -- The least number of different endpoints that gave the logs of any block; each block was read twice at least.
  witnesses smallint,
  -- The block up to which the rows agreed with the chain's state.
  checked_to bigint,
  -- Who works on it, and until when the others leave it alone.
  lease_holder text,
  lease_until timestamptz,
  primary key (subject, place, stream)
);

-- What wallets did in a lending market. A liquidation is two rows of one log, told apart by their leg.
create table lending_event (
  wallet bytea not null,
  place smallint not null,
  block bigint not null,
  log_index integer not null,
  leg smallint not null,
  kind text not null check (kind in ('supply', 'withdraw', 'borrow', 'repay', 'liquidation')),
  asset bytea not null,
  -- In units of the asset.
  amount numeric(78, 0) not null check (amount >= 0),
  counterparty bytea,
  tx_hash bytea not null,
  -- Unix seconds; null if no endpoint gave it with the log.
  time bigint,
  primary key (wallet, place, block, log_index, leg)
);

-- What went into a liquidity position and out of it.
create table position_flow (
  token_id numeric(78, 0) not null,
  place smallint not null,
  block bigint not null,
  log_index integer not null,
  kind text not null check (kind in ('increase', 'decrease', 'collect')),
  liquidity numeric(39, 0) not null check (liquidity >= 0),
  amount0 numeric(78, 0) not null check (amount0 >= 0),
  amount1 numeric(78, 0) not null check (amount1 >= 0),
  tx_hash bytea not null,
  time bigint,
  primary key (token_id, place, block, log_index)
);

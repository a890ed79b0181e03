-- runs with: 26
-- What contracts that hold liquidity positions for wallets, such as farms, log of them: when a position came and left, and
-- what was paid for it beside fees. Rows are found by blocks too, as those of position_flow.
create table custody_event (
  -- The wallet that the contract names.
  wallet bytea not null,
  -- Null where the contract names the wallet alone.
  token_id numeric(78, 0),
  log_index integer not null,
  -- An update changes what the contract counts of a position, and moves nothing.
  kind text not null check (kind in ('stake', 'unstake', 'reward', 'update')),
  -- What was paid: the token and its units; null and 0 of other kinds.
  token bytea,
  amount numeric(78, 0) not null check (amount >= 0),
  tx_hash bytea not null,
  -- Unix seconds; null if no endpoint gave it with the log.
  time bigint,
  primary key (place, block, log_index)
) inherits (history_row);

create index custody_event_token on custody_event (token_id, place, block);
create index custody_event_wallet on custody_event (wallet, place, block);
create index custody_event_block on custody_event using brin (block);

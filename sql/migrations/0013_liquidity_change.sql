-- What changed liquidity positions whose pool logs no amounts, so that these are found in the state of that block. Rows are
-- found by blocks too, as those of position_flow.
create table liquidity_change (
  token_id numeric(78, 0) not null,
  log_index integer not null,
  pool bytea not null,
  tick_lower integer not null,
  tick_upper integer not null,
  -- Added, or removed if it is negative.
  liquidity numeric(39, 0) not null,
  tx_hash bytea not null,
  -- Unix seconds; null if no endpoint gave it with the log.
  time bigint,
  -- Null until they are found. In units of the tokens: what went into the pool or out of it, and the fees that were paid.
  amount0 numeric(78, 0) check (amount0 >= 0),
  amount1 numeric(78, 0) check (amount1 >= 0),
  fees0 numeric(78, 0) check (fees0 >= 0),
  fees1 numeric(78, 0) check (fees1 >= 0),
  -- The square root of the pool's price at the change, in Q96.
  sqrt_price numeric(49, 0),
  -- What the pool's counters of the position stood at after the change; null if no state was needed.
  inside0 numeric(78, 0),
  inside1 numeric(78, 0),
  -- How many different endpoints gave what they follow from.
  witnesses smallint,
  primary key (token_id, place, block, log_index)
) inherits (history_row);

create index liquidity_change_block on liquidity_change using brin (block);

-- What went into a liquidity position and out of it. Rows are found by blocks too, as those of lending_event.
create table position_flow (
  token_id numeric(78, 0) not null,
  log_index integer not null,
  kind text not null check (kind in ('increase', 'decrease', 'collect')),
  -- Added or removed; 0 of a collect.
  liquidity numeric(39, 0) not null check (liquidity >= 0),
  -- In units of the tokens.
  amount0 numeric(78, 0) not null check (amount0 >= 0),
  amount1 numeric(78, 0) not null check (amount1 >= 0),
  tx_hash bytea not null,
  -- Unix seconds; null if no endpoint gave it with the log.
  time bigint,
  primary key (token_id, place, block, log_index)
) inherits (history_row);

create index position_flow_block on position_flow using brin (block);

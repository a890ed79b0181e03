-- What changed the shares that wallets have in vaults, with the assets that came or went for them. Rows are found by
-- blocks too, as those of lending_event.
create table vault_flow (
  wallet bytea not null,
  log_index integer not null,
  kind text not null check (kind in ('deposit', 'withdraw', 'penalty', 'send', 'receive')),
  shares numeric(78, 0) not null check (shares >= 0),
  -- In units of the vault's asset; null where shares alone moved.
  assets numeric(78, 0) check (assets >= 0),
  counterparty bytea not null,
  tx_hash bytea not null,
  -- Unix seconds; null if no endpoint gave it with the log.
  time bigint,
  primary key (wallet, place, block, log_index)
) inherits (history_row);

create index vault_flow_block on vault_flow using brin (block);

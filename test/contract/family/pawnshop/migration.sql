-- What a shop said that wallets' pawns are worth.
create table pawn_appraisal (
  wallet bytea not null,
  log_index integer not null,
  counter bytea not null,
  cents numeric(78, 0) not null,
  tx_hash bytea not null,
  primary key (wallet, place, block, log_index)
) inherits (history_row);

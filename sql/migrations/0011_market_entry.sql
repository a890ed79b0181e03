-- Which markets of a place a wallet was ever in, where the contract itself cannot list them. A row says no more than where
-- to look: what the wallet has there is asked of the contract, so a row too many does no harm and none is ever replaced.
-- Its block is the first one that a log says so of, of those that were read.
create table market_entry (
  wallet bytea not null,
  market bytea not null,
  primary key (wallet, place, market)
) inherits (history_row);

create index market_entry_block on market_entry using brin (block);

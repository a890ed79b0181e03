-- What a wallet ever entered of a place is not always a market: where a manager of positions cannot list them, it is a
-- position. A row says no more than where to look, as before.
alter table market_entry rename to wallet_entry;
alter table wallet_entry rename column market to entry;
alter index market_entry_pkey rename to wallet_entry_pkey;
alter index market_entry_block rename to wallet_entry_block;

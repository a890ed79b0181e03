-- The time of a price's block, seconds since the epoch, as its state told it, or as it was asked for where rounds of a feed
-- gave the price: a log that names another time is not believed beside it. Null for prices that were stored before.
alter table price_at add column block_time bigint;

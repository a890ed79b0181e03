-- Takes a chain's anchor back to an older block, and forgets what was stored after it.
-- $1 chain_id bigint
-- $2 epoch bigint, in which the anchor was found to be false
-- $3 number bigint
-- $4 hash text, hexadecimal without prefix
-- $5 witnesses integer
-- taken not null
select history_fall_back($1, $2, $3, $4, $5) as taken

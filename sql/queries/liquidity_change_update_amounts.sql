-- Stores the amounts of changes of a liquidity position. Amounts confirmed by more endpoints replace others.
-- lane read
-- $1 chain_id bigint
-- $2 contract text, hexadecimal without prefix
-- $3 token_id numeric
-- $4 blocks bigint[], with $5 to $13 once for each change
-- $5 log_indexes integer[]
-- $6 amounts0 numeric[]
-- $7 amounts1 numeric[]
-- $8 fees0 numeric[]
-- $9 fees1 numeric[]
-- $10 sqrt_prices numeric[]
-- $11 insides0 numeric[], -1 for none
-- $12 insides1 numeric[]
-- $13 witnesses integer[]
update liquidity_change c
set amount0 = w.amount0, amount1 = w.amount1, fees0 = w.fees0, fees1 = w.fees1, sqrt_price = w.sqrt_price,
  inside0 = nullif(w.inside0, -1), inside1 = nullif(w.inside1, -1), witnesses = w.witnesses
from unnest(
  $4::bigint[], $5::integer[], $6::numeric[], $7::numeric[], $8::numeric[], $9::numeric[], $10::numeric[],
  $11::numeric[], $12::numeric[], $13::integer[]
) w (block, log_index, amount0, amount1, fees0, fees1, sqrt_price, inside0, inside1, witnesses)
where c.place = (select p.id from history_place p where p.chain_id = $1 and p.contract = decode($2, 'hex'))
  and c.token_id = $3 and c.block = w.block and c.log_index = w.log_index
  and (c.witnesses is null or c.witnesses <= w.witnesses)

-- Deletes prices that came from a single endpoint, or without the time of their block, and that were contradicted.
-- lane read
-- $1 chain_id bigint
-- $2 asker text
-- $3 tokens text[], hexadecimal without prefix, with $4 once for each price
-- $4 blocks bigint[]
delete from price_at p
using unnest($3::text[], $4::bigint[]) w (token, block)
where p.chain_id = $1 and p.asker = $2 and p.token = decode(w.token, 'hex') and p.block = w.block
  and (p.witnesses < 2 or p.block_time is null)

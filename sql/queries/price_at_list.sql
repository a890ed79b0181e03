-- Lists stored prices of tokens at blocks.
-- lane read
-- $1 chain_id bigint
-- $2 asker text
-- $3 tokens text[], hexadecimal without prefix, with $4 once for each price
-- $4 blocks bigint[]
select p.token, p.block, p.units, p.scale, p.source, p.evidence, p.witnesses, p.block_time
from unnest($3::text[], $4::bigint[]) w (token, block)
join price_at p on p.chain_id = $1 and p.asker = $2 and p.token = decode(w.token, 'hex') and p.block = w.block

-- Keeps prices of tokens at final blocks. One that is there already stays as it is.
-- $1 chain_id bigint
-- $2 asker text
-- $3 tokens text[], hexadecimal without prefix, with $4 to $8 once for each price
-- $4 blocks bigint[]
-- $5 units numeric[]
-- $6 scales integer[]
-- $7 sources text[]
-- $8 evidences text[]
insert into price_at (chain_id, asker, token, block, units, scale, source, evidence)
select $1, $2, decode(w.token, 'hex'), w.block, w.units, w.scale, w.source, w.evidence
from unnest($3::text[], $4::bigint[], $5::numeric[], $6::integer[], $7::text[], $8::text[])
  w (token, block, units, scale, source, evidence)
on conflict do nothing

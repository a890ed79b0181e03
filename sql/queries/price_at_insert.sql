-- Stores prices of tokens at final blocks. A stored price stays, unless more endpoints gave the new one.
-- lane read
-- $1 chain_id bigint
-- $2 asker text
-- $3 tokens text[], hexadecimal without prefix, with $4 to $9 once for each price
-- $4 blocks bigint[]
-- $5 units numeric[]
-- $6 scales integer[]
-- $7 sources text[]
-- $8 evidences text[]
-- $9 witnesses integer[]
insert into price_at as p (chain_id, asker, token, block, units, scale, source, evidence, witnesses)
select $1, $2, decode(w.token, 'hex'), w.block, w.units, w.scale, w.source, w.evidence, w.witnesses
from unnest($3::text[], $4::bigint[], $5::numeric[], $6::integer[], $7::text[], $8::text[], $9::integer[])
  w (token, block, units, scale, source, evidence, witnesses)
on conflict (chain_id, asker, token, block) do update
set units = excluded.units, scale = excluded.scale, source = excluded.source, evidence = excluded.evidence,
  witnesses = excluded.witnesses
where p.witnesses < excluded.witnesses

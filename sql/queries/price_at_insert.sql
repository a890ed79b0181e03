-- Stores prices of tokens at final blocks. A stored price stays, unless more endpoints gave the new one, or it was the
-- round of a feed at another time. One without the time of its block, of an earlier release, gives way to the same price
-- and to one of as many endpoints.
-- lane read
-- $1 chain_id bigint
-- $2 asker text
-- $3 tokens text[], hexadecimal without prefix, with $4 to $10 once for each price
-- $4 blocks bigint[]
-- $5 units numeric[]
-- $6 scales integer[]
-- $7 sources text[]
-- $8 evidences text[]
-- $9 witnesses integer[]
-- $10 block_times bigint[]
insert into price_at as p (chain_id, asker, token, block, units, scale, source, evidence, witnesses, block_time)
select $1, $2, decode(w.token, 'hex'), w.block, w.units, w.scale, w.source, w.evidence, w.witnesses, w.block_time
from unnest(
  $3::text[], $4::bigint[], $5::numeric[], $6::integer[], $7::text[], $8::text[], $9::integer[], $10::bigint[]
) w (token, block, units, scale, source, evidence, witnesses, block_time)
on conflict (chain_id, asker, token, block) do update
set units = excluded.units, scale = excluded.scale, source = excluded.source, evidence = excluded.evidence,
  witnesses = greatest(p.witnesses, excluded.witnesses), block_time = excluded.block_time
where p.witnesses < excluded.witnesses
  or (p.block_time is null
    and (p.witnesses = excluded.witnesses or (p.units, p.scale) = (excluded.units, excluded.scale)))
  or (p.evidence = 'round' and p.block_time <> excluded.block_time and p.witnesses = excluded.witnesses)

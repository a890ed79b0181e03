-- The newest midnight of each chain whose block is known.
-- chain_id not null
-- day not null
select m.chain_id, max(m.day)::integer as day from midnight m group by m.chain_id order by m.chain_id

-- The newest midnight of each chain whose block is known.
-- lane background
-- not null day
select m.chain_id, max(m.day)::integer as day from midnight m group by m.chain_id order by m.chain_id

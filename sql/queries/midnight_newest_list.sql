-- Lists the newest midnight of each chain with a known block.
-- lane background
-- not null day
select m.chain_id, max(m.day)::integer as day from midnight m group by m.chain_id order by m.chain_id

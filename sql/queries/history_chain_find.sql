-- The newest block that a chain's history was built on, and whether the history stopped there.
-- $1 chain_id bigint
-- anchor_hash not null
-- stopped not null
select c.anchor_number, encode(c.anchor_hash, 'hex') as anchor_hash, c.stopped_at is not null as stopped
from history_chain c
where c.chain_id = $1

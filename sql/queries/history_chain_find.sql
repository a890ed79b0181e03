-- The newest block that a chain's history was built on, the one before it, and whether the history stopped there.
-- $1 chain_id bigint
-- anchor_number null
-- anchor_hash null
-- anchor_witnesses not null
-- previous_number null
-- previous_hash null
-- stopped not null
-- epoch not null
select
  c.anchor_number, encode(c.anchor_hash, 'hex') as anchor_hash, c.anchor_witnesses, c.previous_number,
  encode(c.previous_hash, 'hex') as previous_hash, c.stopped_at is not null as stopped, c.epoch
from history_chain c
where c.chain_id = $1

-- Reads a chain's anchor, the anchor before it, and whether the history stopped there.
-- lane read
-- $1 chain_id bigint
-- not null stopped
select
  c.anchor_number, encode(c.anchor_hash, 'hex') as anchor_hash, c.anchor_witnesses, c.previous_number,
  encode(c.previous_hash, 'hex') as previous_hash, c.stopped_at is not null as stopped, c.epoch
from history_chain c
where c.chain_id = $1

-- Stops a chain's history at an anchor that its endpoints no longer have, unless the anchor has changed meanwhile.
-- lane read
-- $1 chain_id bigint
-- $2 number bigint
-- $3 hash text, hexadecimal without prefix
update history_chain c
set stopped_at = now()
where c.chain_id = $1 and c.anchor_number = $2 and c.anchor_hash = decode($3, 'hex') and c.stopped_at is null

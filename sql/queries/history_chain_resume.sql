-- Resumes a chain's history, once its endpoints have the anchor again.
-- lane read
-- $1 chain_id bigint
-- $2 epoch bigint
update history_chain c
set stopped_at = null
where c.chain_id = $1 and c.epoch = $2 and c.stopped_at is not null

-- Releases the idempotency key that a request has claimed, if it has no answer.
-- lane read
-- $1 settlement_id text
delete from idempotency_record where settlement_id = $1 and answered_at is null

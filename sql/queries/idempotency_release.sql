-- Releases the idempotency keys that requests have claimed: of $1 those without an answer, of $2 all.
-- lane gate
-- $1 unanswered text[]
-- $2 voided text[]
delete from idempotency_record where settlement_id = any ($1) and answered_at is null or settlement_id = any ($2)

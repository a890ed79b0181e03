-- Records that the request which claimed an idempotency key was answered. Its answer is not stored.
-- lane read
-- $1 settlement_id text
update idempotency_record set answered_at = now() where settlement_id = $1

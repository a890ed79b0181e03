-- Verdicts for one batch of requests, one row per group of equal key and endpoint; see the migration.
-- $1 hashes text[]
-- $2 endpoints text[]
-- $3 requests integer[]
-- group_no not null
-- organization_id not null
-- api_key_id not null
-- rate_limit not null
-- balance not null
-- used not null
-- admitted not null
-- reset_sec not null
-- requested_at_ms not null
select group_no, organization_id, api_key_id, refusal, rate_limit, balance, used, admitted, reset_sec, requested_at_ms
from gate_admit($1, $2, $3)

-- Charges and logs one batch of finished requests, durably, all or none; see the migration.
-- $1 organizations text[]
-- $2 requested_at_ms bigint[]
-- $3 settlements text[]
-- $4 requests text[]
-- $5 keys text[]
-- $6 methods text[]
-- $7 paths text[]
-- $8 statuses integer[]
-- $9 latencies_ms integer[]
-- $10 credits integer[]
-- $11 admitted integer[], 0 or 1
-- row_no not null
-- organization_id not null
-- balance not null
select row_no, organization_id, balance
from gate_settle($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)

-- Charges and logs one batch of finished requests, durably, all or none. Returns balances afterwards and the numbers,
-- from 1, of requests that could not be paid: in one row, because reading many costs more.
-- $1 hour bigint, whole hours since the epoch, the same for all
-- $2 lock integer, 1 if a balance does not change or may not suffice
-- $3 payers text[], ascending
-- $4 dues bigint[]
-- $5 organizations text[], with $6 to $10 once for each combination of $5 to $8
-- $6 keys text[]
-- $7 paths text[], '' for all without an endpoint
-- $8 statuses integer[]
-- $9 requests integer[]
-- $10 sums bigint[], their credits
-- $11 groups integer[], from 1; with $12 to $19 once for each request
-- $12 requested_at_ms bigint[]
-- $13 settlements text[]
-- $14 request_ids text[]
-- $15 methods text[]
-- $16 asked text[], paths without an endpoint, '' for the others
-- $17 latencies_ms integer[]
-- $18 credits integer[]
-- $19 admitted integer[], 0 or 1
-- organization_ids not null
-- balances not null
-- unpaid not null
select
  coalesce(array_agg(g.organization_id) filter (where g.row_no = 0), '{}') as organization_ids,
  coalesce(array_agg(g.balance) filter (where g.row_no = 0), '{}') as balances,
  coalesce(array_agg(g.row_no) filter (where g.row_no > 0), '{}') as unpaid
from gate_settle($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19) g

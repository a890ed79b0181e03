-- Charges and logs one batch of finished requests as gate_settle does, if some of its keys may spend only so much a day.
-- $1 hour bigint, whole hours since the epoch, the same for all
-- $2 payers text[], ascending
-- $3 dues bigint[]
-- $4 organizations text[], with $5 to $9 and $19 once for each combination of $4 to $7
-- $5 keys text[]
-- $6 paths text[], '' for all without an endpoint
-- $7 statuses integer[]
-- $8 requests integer[]
-- $9 sums bigint[], their credits
-- $10 groups integer[], from 1; with $11 to $18 once for each request
-- $11 requested_at_ms bigint[]
-- $12 settlements text[]
-- $13 request_ids text[]
-- $14 methods text[]
-- $15 asked text[], paths without an endpoint, '' for the others
-- $16 latencies_ms integer[]
-- $17 credits integer[]
-- $18 admitted integer[], 0 or 1
-- $19 limits bigint[], what the key may spend in one day, 0 for no limit
-- organization_ids not null
-- balances not null
-- unpaid not null
-- used_up not null
select
  coalesce(array_agg(g.organization_id) filter (where g.row_no = 0), '{}') as organization_ids,
  coalesce(array_agg(g.balance) filter (where g.row_no = 0), '{}') as balances,
  coalesce(array_agg(g.row_no) filter (where g.row_no > 0), '{}') as unpaid,
  coalesce(array_agg(-g.row_no) filter (where g.row_no < 0), '{}') as used_up
from gate_settle_limited(
  $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19) g

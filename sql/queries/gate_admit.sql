-- Verdicts for one batch of requests, one element per organization. One row, because reading many would cost more than
-- the decision.
-- $1 epoch bigint
-- $2 organizations text[], ascending
-- $3 rate_limits integer[]
-- $4 candidates integer[]
-- $5 payers text[], with $6 once for each key that may spend only so much a day
-- $6 keys text[]
-- epoch not null
-- changed not null
-- is_stale not null
-- requested_at_ms not null
-- balances not null
-- used not null
-- admitted not null
-- resets_us not null
-- spent not null
select epoch, changed, is_stale, requested_at_ms, balances, used, admitted, resets_us, spent
from gate_admit($1, $2, $3, $4, $5, $6)

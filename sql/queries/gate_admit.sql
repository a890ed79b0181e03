-- Verdicts for one batch of requests, one element per organization. One row, because reading many would cost more than
-- the decision.
-- $1 epoch bigint
-- $2 organizations text[], ascending
-- $3 rate_limits integer[]
-- $4 candidates integer[]
-- epoch not null
-- changed not null
-- is_stale not null
-- requested_at_ms not null
-- balances not null
-- used not null
-- admitted not null
-- resets_us not null
select epoch, changed, is_stale, requested_at_ms, balances, used, admitted, resets_us
from gate_admit($1, $2, $3, $4)

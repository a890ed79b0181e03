-- Verdicts for one batch of requests, one element per group of equal key and endpoint. In one row, because
-- reading many costs more than deciding about them.
-- $1 hashes text[]
-- $2 endpoints text[]
-- $3 requests integer[]
-- requested_at_ms not null
-- group_nos not null
-- organization_ids not null
-- api_key_ids not null
-- refusals not null
-- rate_limits not null
-- balances not null
-- used not null
-- admitted not null
-- resets_us not null
select requested_at_ms, group_nos, organization_ids, api_key_ids, refusals, rate_limits, balances, used, admitted,
  resets_us
from gate_admit($1, $2, $3)

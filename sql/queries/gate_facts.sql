-- Facts about keys, and what has changed since facts were last read, as of one moment.
-- $1 epoch bigint
-- $2 hashes text[]
-- $3 organizations text[]
-- epoch not null
-- changed not null
-- endpoints_off not null
-- features_off not null
-- key_nos not null
-- organization_ids not null
-- api_key_ids not null
-- refusals not null
-- rate_limits not null
-- expire_at_ms not null
-- networks not null
-- endpoints not null
-- credits_per_day not null
select epoch, changed, endpoints_off, features_off, key_nos, organization_ids, api_key_ids, refusals, rate_limits,
  expire_at_ms, networks, endpoints, credits_per_day
from gate_facts($1, $2, $3)

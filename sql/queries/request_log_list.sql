-- One page of an organization's log and the exact total. One row at least, with nulls if the page is empty.
-- $1 organization_id text
-- $2 from_ms bigint
-- $3 to_ms bigint, exclusive
-- $4 api_key_id text | null
-- $5 path text | null
-- $6 status_min integer
-- $7 status_max integer
-- $8 offset bigint
-- $9 limit integer
-- total not null
select total, method, path, status, latency_ms, credits, requested_at, api_key_id, api_key_name
from request_log_page($1, $2, $3, $4, $5, $6, $7, $8, $9)

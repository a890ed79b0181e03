-- Sets the rate limit from the next request on.
-- $1 id text
-- $2 rate_limit integer
update organization set rate_limit = $2
where id = $1 and deleted_at is null
returning id, name, rate_limit, suspended_at, deleted_at, created_at

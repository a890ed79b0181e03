-- Drops the oldest part of the log if it is old enough.
-- $1 days integer
-- dropped not null
-- requests not null
-- credits not null
select dropped, requests, credits from request_log_drop($1)

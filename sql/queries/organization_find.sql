-- One organization, deleted or not.
-- $1 id text
select id, name, rate_limit, trigger_limit, created_at, suspended_at, deleted_at from organization where id = $1

-- One organization, deleted or not.
-- $1 id text
select id, name, rate_limit, suspended_at, deleted_at, created_at from organization where id = $1

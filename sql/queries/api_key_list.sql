-- Lists one page of an organization's keys, revoked ones too, oldest first.
-- lane read
-- $1 organization_id text
-- $2 offset bigint
-- $3 limit bigint
select id, name, last4, created_at, expires_at, revoked_at, allowed_networks, allowed_endpoints,
  credits_per_day::float8
from api_key
where organization_id = $1
order by created_at, id
offset $2 limit $3

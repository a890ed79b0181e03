-- Revokes a key from its next request on; a repetition keeps the first time.
-- lane read
-- $1 organization_id text
-- $2 id text
-- $3 actor text
-- $4 session_id text | null
-- $5 account text | null
with before as (
  select organization_id, id, revoked_at from api_key where organization_id = $1 and id = $2 for update
),
changed as (
  update api_key k set revoked_at = coalesce(k.revoked_at, now())
  from before b
  where k.organization_id = b.organization_id and k.id = b.id
  returning k.*
),
recorded as (
  insert into audit_entry (actor, session_id, account, action, organization_id, subject, detail)
  select $3, $4, $5, 'key.revoke', organization_id, id, '{}' from before where revoked_at is null
)
select id, name, last4, created_at, expires_at, revoked_at, allowed_networks, allowed_endpoints,
  credits_per_day::float8
from changed

-- Inserts a key; no row for an absent, deleted or suspended organization.
-- lane read
-- $1 organization_id text
-- $2 id text
-- $3 name text
-- $4 hash text, hexadecimal digits
-- $5 last4 text
-- $6 expires_at timestamptz | null
-- $7 allowed_networks text[] | null
-- $8 allowed_endpoints text[] | null
-- $9 credits_per_day bigint | null
-- $10 actor text
-- $11 session_id text | null
-- $12 account text | null
with created as (
  insert into api_key (
    organization_id, id, name, hash, last4, expires_at, allowed_networks, allowed_endpoints, credits_per_day)
  select o.id, $2, $3, decode($4, 'hex'), $5, $6, $7, $8, $9
  from organization o
  where o.id = $1 and o.deleted_at is null and o.suspended_at is null
  returning *
),
recorded as (
  insert into audit_entry (actor, session_id, account, action, organization_id, subject, detail)
  select $10, $11, $12, 'key.create', organization_id, id, jsonb_strip_nulls(jsonb_build_object(
    'name', name, 'expires_at', expires_at, 'allowed_networks', allowed_networks,
    'allowed_endpoints', allowed_endpoints, 'credits_per_day', credits_per_day))
  from created
)
select id, name, last4, created_at, expires_at, revoked_at, allowed_networks, allowed_endpoints,
  credits_per_day::float8
from created

-- A new key; no row for an absent, deleted or suspended organization.
-- $1 organization_id text
-- $2 id text
-- $3 name text
-- $4 hash text, hexadecimal digits
-- $5 last4 text
-- $6 expires_at timestamptz | null
-- $7 actor text
-- $8 session_id text | null
with created as (
  insert into api_key (organization_id, id, name, hash, last4, expires_at)
  select o.id, $2, $3, decode($4, 'hex'), $5, $6
  from organization o
  where o.id = $1 and o.deleted_at is null and o.suspended_at is null
  returning organization_id, id, name, last4, created_at, revoked_at, expires_at
),
recorded as (
  insert into audit_entry (actor, session_id, action, organization_id, subject, detail)
  select $7, $8, 'key.create', organization_id, id, jsonb_build_object('name', name, 'expires_at', expires_at)
  from created
)
select organization_id, id, name, last4, created_at, revoked_at, expires_at from created

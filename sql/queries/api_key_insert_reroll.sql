-- Replaces a valid key, which still works for the grace period, but never beyond its expiry. The new key has the same
-- limits and the same expiry.
-- lane read
-- $1 organization_id text
-- $2 id text, of the old key
-- $3 grace_sec integer
-- $4 new_id text
-- $5 hash text, hexadecimal digits
-- $6 last4 text
-- $7 actor text
-- $8 session_id text | null
-- $9 account text | null
with old as (
  update api_key k
  set expires_at = least(k.expires_at, now() + $3::integer * interval '1 second')
  from organization o, api_key before
  where k.organization_id = $1 and k.id = $2
    and before.organization_id = k.organization_id and before.id = k.id
    and k.revoked_at is null and (k.expires_at is null or k.expires_at > now())
    and o.id = k.organization_id and o.deleted_at is null and o.suspended_at is null
  returning k.organization_id, k.id, k.name, k.allowed_networks, k.allowed_endpoints, k.credits_per_day,
    before.expires_at
),
created as (
  insert into api_key (
    organization_id, id, name, hash, last4, allowed_networks, allowed_endpoints, credits_per_day,
    expires_at)
  select organization_id, $4, name, decode($5, 'hex'), $6, allowed_networks, allowed_endpoints, credits_per_day,
    expires_at
  from old
  returning *
),
recorded as (
  insert into audit_entry (actor, session_id, account, action, organization_id, subject, detail)
  select $7, $8, $9, 'key.reroll', organization_id, id, jsonb_build_object('new_key', $4, 'grace_sec', $3) from old
)
select id, name, last4, created_at, expires_at, revoked_at, allowed_networks, allowed_endpoints,
  credits_per_day::float8
from created

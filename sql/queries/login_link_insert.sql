-- Inserts a login link and deletes expired ones. No row for an absent or deleted organization.
-- lane read
-- $1 hash text, hexadecimal digits
-- $2 organization_id text | null, null for the operator
-- $3 lifetime_sec integer
-- $4 actor text
-- $5 session_id text | null
-- $6 account text | null
with expired_links as (
  delete from login_link where expires_at <= now()
),
expired_sessions as (
  delete from session where expires_at <= now()
),
created as (
  insert into login_link (hash, organization_id, expires_at)
  select decode($1, 'hex'), $2, now() + $3::integer * interval '1 second'
  where $2::text is null or exists (select from organization o where o.id = $2 and o.deleted_at is null)
  returning organization_id, expires_at
),
recorded as (
  insert into audit_entry (actor, session_id, account, action, organization_id, subject, detail)
  select $4, $5, $6, 'login_link.create', organization_id, coalesce(organization_id, 'operator'), '{}' from created
)
select expires_at from created

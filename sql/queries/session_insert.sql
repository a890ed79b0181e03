-- Opens the session of a login link and deletes the link, so that of concurrent uses one gets a session.
-- lane read
-- $1 link_hash text, hexadecimal digits
-- $2 id text
-- $3 hash text, hexadecimal digits
-- $4 page_hash text, hexadecimal digits
-- $5 operator_sec integer, lifetime of an operator's session
-- $6 organization_sec integer, lifetime of an organization's session
with used as (
  delete from login_link l
  where l.hash = decode($1, 'hex') and l.expires_at > now()
    and (l.organization_id is null
      or exists (select from organization o where o.id = l.organization_id and o.deleted_at is null))
  returning l.organization_id
),
opened as (
  insert into session (id, hash, page_hash, organization_id, expires_at)
  select $2, decode($3, 'hex'), decode($4, 'hex'), organization_id,
    now() + case when organization_id is null then $5::integer else $6::integer end * interval '1 second'
  from used
  returning id, organization_id, expires_at
),
recorded as (
  insert into audit_entry (actor, session_id, action, organization_id, subject, detail)
  select case when organization_id is null then 'operator session' else 'organization session' end,
    id, 'session.open', organization_id, id, '{}'
  from opened
)
select organization_id, expires_at from opened

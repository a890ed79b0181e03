-- Ends sessions and login links: those of one organization, or all of them.
-- lane read
-- $1 organization_id text | null, null for all
-- $2 actor text
-- $3 session_id text | null
-- $4 account text | null
-- not null ended
with links as (
  delete from login_link where $1::text is null or organization_id = $1
),
ended as (
  delete from session where $1::text is null or organization_id = $1 returning id, organization_id
),
recorded as (
  insert into audit_entry (actor, session_id, account, action, organization_id, subject, detail)
  select $2, $3, $4, 'session.end', organization_id, id, '{}' from ended
)
select count(*)::integer as ended from ended

-- Ends a session.
-- lane read
-- $1 id text
-- $2 actor text
with ended as (
  delete from session where id = $1 returning id, organization_id
)
insert into audit_entry (actor, session_id, action, organization_id, subject, detail)
select $2, id, 'session.end', organization_id, id, '{}' from ended

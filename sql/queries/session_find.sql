-- A session that has not ended; none of a deleted organization.
-- $1 hash text, hexadecimal digits
select s.id, s.organization_id, s.expires_at
from session s
where s.hash = decode($1, 'hex') and s.expires_at > now()
  and (s.organization_id is null
    or exists (select from organization o where o.id = s.organization_id and o.deleted_at is null))

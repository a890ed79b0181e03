-- Finds a session that has not ended by its cookie; none of a deleted organization. The caller compares the second
-- secret.
-- lane read
-- $1 hash text, hexadecimal digits
-- not null page_hash
select s.id, s.organization_id, s.expires_at, encode(s.page_hash, 'hex') as page_hash
from session s
where s.hash = decode($1, 'hex') and s.expires_at > now()
  and (s.organization_id is null
    or exists (select from organization o where o.id = s.organization_id and o.deleted_at is null))

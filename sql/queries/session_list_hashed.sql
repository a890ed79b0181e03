-- Finds sessions that have not ended by their cookies; none of a deleted organization. The caller compares the second
-- secret.
-- lane read
-- $1 hashes text[], hexadecimal digits
-- not null hash, page_hash
select encode(s.hash, 'hex') as hash, s.id, s.organization_id, s.expires_at, encode(s.page_hash, 'hex') as page_hash
from session s
where s.hash = any (array(select decode(x, 'hex') from unnest($1::text[]) x)) and s.expires_at > now()
  and (s.organization_id is null
    or exists (select from organization o where o.id = s.organization_id and o.deleted_at is null))

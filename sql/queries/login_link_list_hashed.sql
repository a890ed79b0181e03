-- Lists login links that have not expired and whose organizations are not deleted.
-- lane read
-- $1 hashes text[], hexadecimal digits
-- not null hash
-- null organization_name
select encode(l.hash, 'hex') as hash, l.organization_id, o.name as organization_name
from login_link l
left join organization o on o.id = l.organization_id
where l.hash = any (array(select decode(x, 'hex') from unnest($1::text[]) x)) and l.expires_at > now()
  and o.deleted_at is null

-- Finds login links that have not expired; whether their organizations are deleted is not looked at.
-- lane read
-- $1 hashes text[], hexadecimal digits
-- not null hash
select encode(l.hash, 'hex') as hash
from login_link l
where l.hash = any (array(select decode(x, 'hex') from unnest($1::text[]) x)) and l.expires_at > now()

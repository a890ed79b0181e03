-- Browsers send a session's cookie to every port of its host, so it alone no longer opens anything.

-- Those of before have no second secret: whoever was signed in signs in again.
delete from session;

-- Hash of the secret that only pages of the service's own origin hold.
alter table session add column page_hash bytea not null check (octet_length(page_hash) = 32);

-- Counts all keys of an organization, revoked ones too.
-- lane read
-- $1 organization_id text
-- not null total
select count(*)::integer as total from api_key where organization_id = $1

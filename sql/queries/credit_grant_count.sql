-- Counts the grants of an organization.
-- lane read
-- $1 organization_id text
-- not null total
select count(*)::integer as total from credit_grant where organization_id = $1

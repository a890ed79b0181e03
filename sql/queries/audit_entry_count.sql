-- Counts the entries of the audit list.
-- lane read
-- $1 organization_id text | null, null for all
-- not null total
select count(*)::integer as total from audit_entry where $1::text is null or organization_id = $1

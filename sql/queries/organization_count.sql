-- Counts organizations that are not deleted.
-- lane read
-- not null total
select count(*)::integer as total from organization where deleted_at is null

-- How many organizations are not deleted.
-- total not null
select count(*)::integer as total from organization where deleted_at is null

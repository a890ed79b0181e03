-- How many organizations are not deleted.
-- not null total
select count(*)::integer as total from organization where deleted_at is null

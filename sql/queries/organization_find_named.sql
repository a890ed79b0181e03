-- Lists ids of organizations with a name that are not deleted, oldest first.
-- lane read
-- $1 name text
-- $2 max bigint
select o.id from organization o where o.name = $1 and o.deleted_at is null order by o.created_at, o.id limit $2

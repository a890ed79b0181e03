-- Lists messages of an organization after a number, in order.
-- lane read
-- $1 organization_id text
-- $2 no bigint
-- $3 max bigint
-- not null id
select m.id::text as id, m.no::text as no, m.body from message m
where m.organization_id = $1 and m.no > $2
order by m.no limit $3

-- Lists one page of the organizations that are not deleted, oldest first, with their balances and grants.
-- lane read
-- $1 offset bigint
-- $2 limit bigint
-- not null balance, granted
select o.id, o.name, o.rate_limit, o.trigger_limit, o.created_at, o.suspended_at, o.deleted_at, b.most - b.spent as balance, b.most as granted
from organization o
join spending_limit b on b.organization_id = o.id and b.scope = '' and b.period = 0
where o.deleted_at is null
order by o.created_at, o.id
offset $1 limit $2

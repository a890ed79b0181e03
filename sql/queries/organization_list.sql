-- One page of the organizations that are not deleted, oldest first, with their balances and grants.
-- $1 offset bigint
-- $2 limit bigint
select o.id, o.name, o.rate_limit, o.suspended_at, o.deleted_at, o.created_at, b.balance, b.granted
from organization o
join credit_balance b on b.organization_id = o.id
where o.deleted_at is null
order by o.created_at, o.id
offset $1 limit $2

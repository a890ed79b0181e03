-- Organizations that are not deleted, oldest first, with their balances.
-- $1 max bigint
select o.id, o.name, o.rate_limit, o.suspended_at, o.deleted_at, o.created_at, b.balance
from organization o
join credit_balance b on b.organization_id = o.id
where o.deleted_at is null
order by o.created_at, o.id
limit $1

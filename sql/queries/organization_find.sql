-- Reads one organization that is not deleted, with its balance and grants.
-- lane read
-- $1 id text
-- not null balance, granted
select o.id, o.name, o.rate_limit, o.trigger_limit, o.created_at, o.suspended_at, o.deleted_at, b.most - b.spent as balance,
  b.most as granted
from organization o
join spending_limit b on b.organization_id = o.id and b.scope = '' and b.period = 0
where o.id = $1 and o.deleted_at is null

-- Balance and sum of grants of an organization.
-- $1 organization_id text
-- not null balance, granted
select b.organization_id, b.most - b.spent as balance, b.most as granted
from spending_limit b
join organization o on o.id = b.organization_id
where b.organization_id = $1 and b.scope = '' and b.period = 0 and o.deleted_at is null

-- Balance and sum of grants of an organization.
-- $1 organization_id text
select b.organization_id, b.balance, b.granted
from credit_balance b
join organization o on o.id = b.organization_id
where b.organization_id = $1 and o.deleted_at is null

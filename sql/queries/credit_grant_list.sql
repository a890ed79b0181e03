-- Grants of an organization, newest first.
-- $1 organization_id text
-- $2 max bigint
select id, credits, reason, granted_at
from credit_grant
where organization_id = $1
order by granted_at desc, id desc
limit $2

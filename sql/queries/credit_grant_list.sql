-- Lists one page of an organization's grants, newest first.
-- lane read
-- $1 organization_id text
-- $2 offset bigint
-- $3 limit bigint
select id, credits, reason, granted_at
from credit_grant
where organization_id = $1
order by granted_at desc, id desc
offset $2 limit $3

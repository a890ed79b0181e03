-- Lists one page of the audit list, newest first.
-- lane read
-- $1 organization_id text | null, null for all
-- $2 offset bigint
-- $3 limit bigint
select id, at, actor, session_id, account, action, organization_id, subject, detail
from audit_entry
where $1::text is null or organization_id = $1
order by id desc
offset $2 limit $3

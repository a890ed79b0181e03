-- Releases claimed messages that were not attempted.
-- lane background
-- $1 organizations text[]
-- $2 nos bigint[]
update message m set lease_until = null
from unnest($1::text[], $2::bigint[]) u (organization_id, no)
where m.organization_id = u.organization_id and m.no = u.no and m.due_at is not null

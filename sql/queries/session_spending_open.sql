-- Opens a session that has spent nothing, so that those which nobody opened are recognised.
-- $1 organization_id text
-- $2 session_id text
insert into session_spending (organization_id, session_id, credits)
values ($1, $2, 0)
on conflict (organization_id, session_id) do nothing

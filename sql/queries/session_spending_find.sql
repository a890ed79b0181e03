-- What a session has spent; no row if nobody opened it.
-- $1 organization_id text
-- $2 session_id text
select credits from session_spending where organization_id = $1 and session_id = $2

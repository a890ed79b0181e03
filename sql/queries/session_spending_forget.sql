-- Few rows: one for each session that had a budget.
-- $1 days integer
delete from session_spending where spent_at < now() - make_interval(days => $1)

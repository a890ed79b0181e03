-- Forgets days of keys and sessions from which nothing was spent for some days.
-- lane background
-- $1 days integer
delete from spending_limit where scope <> '' and spent_at < now() - make_interval(days => $1)

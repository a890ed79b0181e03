-- Deletes spending of keys' days and sessions without a charge for some days.
-- lane background
-- $1 days integer
delete from spending_limit where scope <> '' and spent_at < now() - make_interval(days => $1)

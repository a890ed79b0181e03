-- Deletes leases that expired some days ago, left by dead processes.
-- lane background
-- $1 days integer
delete from lease l
using (
  select e.job, e.subject from lease e where e.until < now() - make_interval(days => $1) for update skip locked
) d
where l.job = d.job and l.subject = d.subject

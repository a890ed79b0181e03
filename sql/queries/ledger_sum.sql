-- Credits over all organizations, what the log charged before it was dropped included, and of how many organizations they do not add up: granted is balance plus charged.
-- organizations not null
-- granted not null
-- balance not null
-- charged not null
-- odd not null
select count(b.organization_id)::integer as organizations,
  coalesce(sum(b.granted), 0)::text as granted,
  coalesce(sum(b.balance), 0)::text as balance,
  coalesce(sum(l.charged), 0)::text as charged,
  (count(*) filter (where coalesce(b.granted, 0) <> coalesce(b.balance, 0) + coalesce(l.charged, 0)))::integer as odd
from credit_balance b
full join (
  select c.organization_id, sum(c.credits) as charged
  from (
    select organization_id, credits from request_log
    union all
    select organization_id, credits from request_log_dropped
  ) c
  group by c.organization_id
) l
  on l.organization_id = b.organization_id

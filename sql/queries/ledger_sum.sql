-- Credits over all organizations, and of how many organizations they do not add up: granted is balance plus charged.
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
full join (select organization_id, sum(credits) as charged from request_log group by organization_id) l
  on l.organization_id = b.organization_id

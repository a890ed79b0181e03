-- Sums credits over all organizations, with charges of dropped partitions of the log. `odd` is the number of
-- organizations whose credits do not add up: granted is not balance plus charged.
-- lane background
-- not null organizations, granted, balance, charged, odd
select count(b.organization_id)::integer as organizations,
  coalesce(sum(b.granted), 0)::text as granted,
  coalesce(sum(b.balance), 0)::text as balance,
  coalesce(sum(l.charged), 0)::text as charged,
  (count(*) filter (where coalesce(b.granted, 0) <> coalesce(b.balance, 0) + coalesce(l.charged, 0)))::integer as odd
from (
  select s.organization_id, s.most as granted, s.most - s.spent as balance from spending_limit s where s.scope = ''
) b
full join (
  select c.organization_id, sum(c.credits) as charged
  from (
    select n.organization_id, s.credits
    from (select l.organization_no, sum(l.credits) as credits from request_log l group by l.organization_no) s
    left join request_caller n on n.no = s.organization_no
    union all
    select d.organization_id, d.credits from request_log_dropped d
  ) c
  group by c.organization_id
) l
  on l.organization_id = b.organization_id

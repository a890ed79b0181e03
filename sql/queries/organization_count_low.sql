-- Counts organizations whose balance is less than their spending since a day.
-- lane background
-- $1 from_day integer, whole days since the epoch
-- not null total
select count(*)::integer as total
from organization o
join spending_limit b on b.organization_id = o.id and b.scope = '' and b.period = 0
where o.deleted_at is null and b.most - b.spent < (
  select coalesce(sum(r.credits), 0) from request_rollup r
  where r.day >= $1 and r.organization_no = (
    select c.organization_no from request_caller c where c.organization_id = o.id limit 1
  )
)

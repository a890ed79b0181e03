-- Deletes idempotency keys a day after their first use, and sums the size of the remaining ones.
-- lane background
with gone as (
  delete from idempotency_record where begun_at <= now() - interval '24 hours'
),
counted as (
  select u.organization_id, coalesce(sum(r.bytes), 0) as bytes
  from idempotency_use u
  left join idempotency_record r on r.organization_id = u.organization_id and r.begun_at > now() - interval '24 hours'
  group by u.organization_id
)
update idempotency_use u set bytes = c.bytes
from counted c
where u.organization_id = c.organization_id and u.bytes <> c.bytes

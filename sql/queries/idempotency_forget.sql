-- Deletes idempotency keys a day after their first use, and sums the size of the remaining ones. Rows are locked in byte
-- order of organizations, as settlements lock them.
-- lane background
with gone as (
  delete from idempotency_record where begun_at <= now() - interval '24 hours'
),
locked as (
  select u.organization_id, u.bytes from idempotency_use u order by u.organization_id collate "C" for no key update
),
counted as (
  select u.organization_id, u.bytes as before, coalesce(sum(r.bytes), 0) as bytes
  from locked u
  left join idempotency_record r on r.organization_id = u.organization_id and r.begun_at > now() - interval '24 hours'
  group by u.organization_id, u.bytes
)
update idempotency_use u set bytes = c.bytes
from counted c
where u.organization_id = c.organization_id and c.before <> c.bytes

-- Lets messages of a webhook be due again whose tries are over: those with these ids, or of this time, oldest first.
-- $1 organization_id text
-- $2 webhook_id text
-- $3 ids text[] | null
-- $4 from timestamptz | null
-- $5 to timestamptz | null
-- $6 max bigint
-- redelivered not null
with chosen as (
  select m.no from message m
  where m.organization_id = $1 and m.webhook_id = $2 and m.due_at is null
    and ($3::text[] is null or m.id = any ($3::text[]::uuid[]))
    and ($4::timestamptz is null or m.created_at >= $4) and ($5::timestamptz is null or m.created_at < $5)
  order by m.no limit $6
),
due as (
  update message m set due_at = now(), tries = 0, lease_until = null, done_at = null, outcome = null
  from chosen c
  where m.organization_id = $1 and m.no = c.no and m.due_at is null
  returning m.no
)
select count(*)::integer as redelivered from due

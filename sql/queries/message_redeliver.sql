-- Lets messages of a webhook be due again whose tries are over: those with these ids, or of this time, oldest first. They
-- are found by their ids, which begin with the time at which they were made, so that no others are read. `last` is the
-- last of them; those of a time can be asked for after it.
-- lane read
-- $1 organization_id text
-- $2 webhook_id text
-- $3 ids text[] | null
-- $4 from timestamptz | null
-- $5 to timestamptz | null
-- $6 after text | null
-- $7 max bigint
-- not null redelivered
with chosen as (
  select m.no
  from unnest($3::text[]) u (id)
  cross join lateral (
    select x.* from message x where x.organization_id = $1 and x.id = u.id::uuid offset 0
  ) m
  where m.webhook_id = $2 and m.due_at is null
  union
  (
    select m.no from message m
    where m.organization_id = $1 and m.webhook_id = $2 and m.due_at is null
      and m.id >= message_id_floor($4::timestamptz) and m.created_at >= $4
      and m.id > coalesce($6::text::uuid, '00000000-0000-0000-0000-000000000000')
      -- Made within the statement that added it.
      and m.id < message_id_floor($5::timestamptz + interval '1 hour') and m.created_at < $5
    order by m.id limit $7
  )
),
due as (
  update message m set due_at = now(), tries = 0, lease_until = null, done_at = null, outcome = null
  from chosen c
  where m.organization_id = $1 and m.no = c.no and m.due_at is null
  returning m.id
)
select count(*)::integer as redelivered, max(d.id::text collate "C") as last from due d

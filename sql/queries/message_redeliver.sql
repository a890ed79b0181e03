-- Makes failed messages of a webhook due again: those with these ids, or of a range of time, oldest first. Ids begin
-- with the time of creation, so that the look-up reads no other messages. `last` is the last of them, after which the
-- next call for a range can continue. A message is made due again ten times at most, as message_due_again has it.
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
  where m.webhook_id = $2 and m.due_at is null and m.redeliveries < 10
  union
  (
    select m.no from message m
    where m.organization_id = $1 and m.webhook_id = $2 and m.due_at is null and m.redeliveries < 10
      and m.id >= message_id_floor($4::timestamptz) and m.created_at >= $4
      and m.id > coalesce($6::text::uuid, '00000000-0000-0000-0000-000000000000')
      -- Created within the statement that added the message.
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

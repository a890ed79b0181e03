-- Makes failed messages of a webhook due again: those with these ids, or else of a range of time, oldest first. Ids begin
-- with the time of creation, so that the look-up reads no other messages. `last` is the last of them, after which the
-- next call for a range can continue. A message is made due again ten times at most, as message_due_again has it.
create or replace function message_redeliver(
  p_organization text, p_webhook text, p_ids text[], p_from timestamptz, p_to timestamptz, p_after text, p_most integer
) returns table (redelivered integer, last text) language sql as $$
  with chosen as (
    select m.no
    from unnest(p_ids) u (id)
    cross join lateral (
      select x.* from message x where x.organization_id = p_organization and x.id = u.id::uuid offset 0
    ) m
    where m.webhook_id = p_webhook and m.due_at is null and m.redeliveries < 10
    union
    (
      select m.no from message m
      where m.organization_id = p_organization and m.webhook_id = p_webhook and m.due_at is null
        and m.redeliveries < 10 and m.id >= message_id_floor(p_from) and m.created_at >= p_from
        and m.id > coalesce(p_after::uuid, '00000000-0000-0000-0000-000000000000')
        -- Created within the statement that added the message.
        and m.id < message_id_floor(p_to + interval '1 hour') and m.created_at < p_to
      order by m.id limit p_most
    )
  ),
  due as (
    update message m set due_at = now(), tries = 0, lease_until = null, done_at = null, outcome = null
    from chosen c
    where m.organization_id = p_organization and m.no = c.no and m.due_at is null
    returning m.id
  )
  select count(*)::integer as redelivered, max(d.id::text collate "C") as last from due d
$$;

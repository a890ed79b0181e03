-- Deletes messages older than some days, a few of each organization at a time. Numbers rise with time, so the oldest of
-- an organization come first.
-- lane background
-- $1 days integer
-- $2 each bigint, most of an organization
-- not null deleted
with old as (
  select m.organization_id, m.no
  from message_count c
  cross join lateral (
    select x.organization_id, x.no, x.created_at from message x where x.organization_id = c.organization_id
    order by x.no limit $2
  ) m
  where m.created_at < now() - make_interval(days => $1)
),
gone as (
  delete from message m using old o where m.organization_id = o.organization_id and m.no = o.no
  returning m.no
)
select count(*)::integer as deleted from gone

-- Suspends, restores or deletes an organization that is not deleted; keys and credits stay as they are. Its triggers
-- count as changed, so that the loops let go of them, or evaluate them again from now on, at once. The lock allows
-- references to the row: the replacement of a key counts its change first and then refers to the organization, while
-- this statement waits to count its own.
-- lane read
-- $1 id text
-- $2 change text
-- $3 actor text
-- $4 session_id text | null
-- $5 account text | null
with before as (
  select id, suspended_at from organization where id = $1 and deleted_at is null for no key update
),
changed as (
  update organization o
  set suspended_at = case $2
      when 'suspend' then coalesce(o.suspended_at, now())
      when 'restore' then null
      else o.suspended_at
    end,
    deleted_at = case when $2 = 'delete' then now() end
  from before b
  where o.id = b.id
  returning o.id, o.name, o.rate_limit, o.trigger_limit, o.created_at, o.suspended_at, o.deleted_at
),
stamped as (
  update watch w
  set active_at = case when c.suspended_at is null and c.deleted_at is null then now() else w.active_at end
  from changed c join before b on b.id = c.id
  where w.organization_id = c.id and (c.deleted_at is not null or c.suspended_at is distinct from b.suspended_at)
),
recorded as (
  insert into audit_entry (actor, session_id, account, action, organization_id, subject, detail)
  select $3, $4, $5, 'organization.' || $2, c.id, c.id, '{}'
  from changed c join before b on b.id = c.id
  where c.deleted_at is not null or c.suspended_at is distinct from b.suspended_at
)
select id, name, rate_limit, trigger_limit, created_at, suspended_at, deleted_at from changed

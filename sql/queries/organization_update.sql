-- Renames an organization that is not deleted, unless another one has the name, or sets its limits, from the next request
-- on. Null keeps a value; one of several that have a name already may be given it again. The lock allows references to the
-- row: the replacement of a key counts its change first and then refers to the organization, while this statement waits to
-- count its own.
-- lane read
-- $1 id text
-- $2 name text | null
-- $3 rate_limit integer | null
-- $4 trigger_limit integer | null
-- $5 actor text
-- $6 session_id text | null
-- $7 account text | null
with before as (
  select id, name, rate_limit, trigger_limit from organization
  where id = $1 and deleted_at is null and ($2::text is null or name = $2 or organization_name_is_free($2, $1))
  for no key update
),
changed as (
  update organization o set name = coalesce($2, b.name), rate_limit = coalesce($3, b.rate_limit),
    trigger_limit = coalesce($4, b.trigger_limit)
  from before b
  where o.id = b.id
  returning o.id, o.name, o.rate_limit, o.trigger_limit, o.created_at, o.suspended_at, o.deleted_at
),
recorded as (
  insert into audit_entry (actor, session_id, account, action, organization_id, subject, detail)
  select $5, $6, $7, 'organization.update', c.id, c.id, jsonb_strip_nulls(jsonb_build_object(
    'name', case when b.name <> c.name then jsonb_build_object('from', b.name, 'to', c.name) end,
    'rate_limit',
    case when b.rate_limit <> c.rate_limit then jsonb_build_object('from', b.rate_limit, 'to', c.rate_limit) end,
    'trigger_limit',
    case when b.trigger_limit <> c.trigger_limit
      then jsonb_build_object('from', b.trigger_limit, 'to', c.trigger_limit) end))
  from changed c join before b on b.id = c.id
  where (b.name, b.rate_limit, b.trigger_limit) <> (c.name, c.rate_limit, c.trigger_limit)
)
select id, name, rate_limit, trigger_limit, created_at, suspended_at, deleted_at from changed

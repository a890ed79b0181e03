-- Inserts an organization with an empty balance, unless another one has the name.
-- lane read
-- $1 id text
-- $2 name text
-- $3 rate_limit integer
-- $4 trigger_limit integer
-- $5 actor text
-- $6 session_id text | null
-- $7 account text | null
with created as (
  insert into organization (id, name, rate_limit, trigger_limit)
  select $1, $2, $3, $4 where organization_name_is_free($2, $1)
  returning id, name, rate_limit, trigger_limit, created_at, suspended_at, deleted_at
),
balance as (
  insert into spending_limit (organization_id, most) select id, 0 from created
),
recorded as (
  insert into audit_entry (actor, session_id, account, action, organization_id, subject, detail)
  select $5, $6, $7, 'organization.create', id, id,
    jsonb_build_object('name', name, 'rate_limit', rate_limit, 'trigger_limit', trigger_limit)
  from created
)
select id, name, rate_limit, trigger_limit, created_at, suspended_at, deleted_at from created

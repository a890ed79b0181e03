-- Grants credits, or takes them back if negative; no row if the balance would fall below zero, or the organization is
-- absent or deleted.
-- lane read
-- $1 organization_id text
-- $2 credits bigint
-- $3 grant_id text
-- $4 reason text
-- $5 actor text
-- $6 session_id text | null
-- $7 account text | null
-- not null balance, granted
with changed as (
  update spending_limit b
  set most = b.most + $2
  from organization o
  where b.organization_id = $1 and b.scope = '' and b.period = 0
    and o.id = b.organization_id and o.deleted_at is null and b.most + $2 >= b.spent
  returning b.organization_id, b.most - b.spent as balance, b.most as granted
),
given as (
  insert into credit_grant (organization_id, id, credits, reason)
  select organization_id, $3, $2, $4 from changed
  returning id, granted_at
),
recorded as (
  insert into audit_entry (actor, session_id, account, action, organization_id, subject, detail)
  select $5, $6, $7, 'credits.grant', organization_id, $3, jsonb_build_object('credits', $2, 'reason', $4) from changed
)
select c.organization_id, c.balance, c.granted, g.granted_at from changed c cross join given g

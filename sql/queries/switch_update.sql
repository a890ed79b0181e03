-- Switches an endpoint or a feature off or on from the next request of every process on; records it if it changed.
-- lane read
-- $1 kind text, endpoint or feature
-- $2 name text
-- $3 is_on boolean
-- $4 actor text
-- $5 session_id text | null
-- $6 account text | null
-- not null changed
with endpoint_off as (
  insert into endpoint_disabled (endpoint) select $2::text where $1 = 'endpoint' and not $3::boolean
  on conflict do nothing
  returning endpoint as name
),
endpoint_on as (
  delete from endpoint_disabled where endpoint = $2 and $1 = 'endpoint' and $3
  returning endpoint as name
),
feature_off as (
  insert into feature_disabled (feature) select $2::text where $1 = 'feature' and not $3::boolean
  on conflict do nothing
  returning feature as name
),
feature_on as (
  delete from feature_disabled where feature = $2 and $1 = 'feature' and $3
  returning feature as name
),
changed as (
  select name from endpoint_off
  union all select name from endpoint_on
  union all select name from feature_off
  union all select name from feature_on
),
recorded as (
  insert into audit_entry (actor, session_id, account, action, subject, detail)
  select $4, $5, $6, case when $3 then 'switch.on' else 'switch.off' end, name, '{}' from changed
)
select count(*)::integer as changed from changed

-- Inserts the signing key, if there is none, or replaces it. Of concurrent inserts one succeeds, and the other keys are
-- not stored.
-- lane read
-- $1 id text
-- $2 public_key text, hexadecimal digits
-- $3 private_key text | null, hexadecimal digits; null if it is in a file
-- $4 replaced text | null, id of the key that is retired; null if none signs
-- $5 actor text
-- $6 account text | null
with retired as (
  update instance_key set retired_at = now(), private_key = null
  where id = $4 and id <> $1 and retired_at is null
  returning id
),
made as (
  insert into instance_key (id, public_key, private_key)
  select $1, decode($2, 'hex'), decode($3, 'hex')
  -- Counted first, so that the old key is retired before the insert.
  from (select count(*) as retired from retired) done
  where $4::text is null or done.retired = 1
  on conflict do nothing
  returning id
),
recorded as (
  insert into audit_entry (actor, account, action, subject, detail)
  select $5, $6, 'instance_key.create', id, jsonb_build_object('replaced', $4::text) from made
)
select id from made

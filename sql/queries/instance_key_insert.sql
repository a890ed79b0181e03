-- Makes a key the one that signs: if none does, or in place of the one that does. Of many who do so at the same time one
-- wins, and nobody else's is kept.
-- lane read
-- $1 id text
-- $2 public_key text, hexadecimal digits
-- $3 private_key text | null, hexadecimal digits; null if it is in a file
-- $4 replaced text | null, id of the key that is retired; null if none signs
-- $5 actor text
with retired as (
  update instance_key set retired_at = now(), private_key = null
  where id = $4 and id <> $1 and retired_at is null
  returning id
),
made as (
  insert into instance_key (id, public_key, private_key)
  select $1, decode($2, 'hex'), decode($3, 'hex')
  -- Counted first, so that the retired key is out of the way.
  from (select count(*) as retired from retired) done
  where $4::text is null or done.retired = 1
  on conflict do nothing
  returning id
),
recorded as (
  insert into audit_entry (actor, action, subject, detail)
  select $5, 'instance_key.create', id, jsonb_build_object('replaced', $4::text) from made
)
select id from made

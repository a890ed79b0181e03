-- The secret that all secrets of webhooks are derived from; this one if there is none yet. No row if another process has
-- just made one: ask again.
-- lane read
-- $1 secret text, hexadecimal digits
-- not null secret
with made as (
  insert into instance_secret (secret) values (decode($1, 'hex')) on conflict do nothing returning secret
)
select secret from made
union all
select secret from instance_secret
limit 1

-- Reads the secret from which all webhook secrets derive, and stores this one if there is none yet. No row if another
-- process has just stored one: call again.
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

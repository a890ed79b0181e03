-- Lists the blocks of subjects that are stored, and those on which two endpoints agreed. Also reads whether another
-- process has leased them, and whether the chain's history is stopped.
-- lane read
-- $1 chain_id bigint
-- $2 contract text, hexadecimal without prefix as all bytes here
-- $3 stream text
-- $4 subjects text[], '' for everybody
-- $5 holder text, who asks
-- not null subject, first_blocks, last_blocks, first_agreed, last_agreed, is_leased
with place as (
  select p.id from history_place p where p.chain_id = $1 and p.contract = decode($2, 'hex')
)
select
  encode(c.subject, 'hex') as subject,
  array(select lower(r) from unnest(c.blocks) r order by lower(r))::text[] as first_blocks,
  array(select upper(r) - 1 from unnest(c.blocks) r order by lower(r))::text[] as last_blocks,
  array(select lower(r) from unnest(c.agreed) r order by lower(r))::text[] as first_agreed,
  array(select upper(r) - 1 from unnest(c.agreed) r order by lower(r))::text[] as last_agreed,
  c.checked_to,
  exists (
    select from lease l
    where l.job = 'history' and l.subject = concat_ws(':', place.id, $3::text, encode(c.subject, 'hex'))
      and l.holder <> $5 and l.until > now()
  ) as is_leased
from place join history_coverage c on c.place = place.id
where c.stream = $3 and c.subject = any (array(select decode(u.subject, 'hex') from unnest($4::text[]) u (subject)))

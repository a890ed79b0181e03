-- Takes the work on some subjects, or keeps it: those are returned that no other process holds.
-- $1 chain_id bigint
-- $2 contract text, hexadecimal without prefix as all bytes here
-- $3 stream text
-- $4 subjects text[], '' for everybody
-- $5 holder text
-- $6 sec integer
-- $7 from_block bigint, the blocks that are wanted
-- $8 to_block bigint
-- subject not null
insert into history_coverage as c (subject, place, stream, lease_holder, lease_until, wanted)
select
  decode(s.subject, 'hex'), history_place_id($1, decode($2, 'hex')), $3, $5,
  now() + $6::integer * interval '1 second', int8range($7, $8, '[]')
from (select distinct u.subject from unnest($4::text[]) u (subject) order by u.subject) s
on conflict (subject, place, stream) do update
set lease_holder = excluded.lease_holder, lease_until = excluded.lease_until, wanted = excluded.wanted
where c.lease_holder = excluded.lease_holder or c.lease_until is null or c.lease_until <= now()
returning encode(c.subject, 'hex') as subject

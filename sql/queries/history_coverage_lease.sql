-- Leases subjects for a process, or renews its leases; returns the subjects that no other process holds.
-- lane background
-- $1 chain_id bigint
-- $2 contract text, hexadecimal without prefix as all bytes here
-- $3 stream text
-- $4 subjects text[], '' for everybody
-- $5 holder text
-- $6 sec integer
-- $7 from_block bigint, the blocks that are wanted
-- $8 to_block bigint
-- not null subject
with place as (
  select history_place_id($1, decode($2, 'hex')) as id
),
taken as materialized (
  select s.id, s.subject
  from (
    select distinct place.id, lower(u.subject) as subject from place cross join unnest($4::text[]) u (subject)
    order by place.id, lower(u.subject)
  ) s
  where lease_take('history', concat_ws(':', s.id, $3::text, s.subject), $5, $6)
)
insert into history_coverage as c (subject, place, stream, wanted)
select decode(t.subject, 'hex'), t.id, $3, int8range($7, $8, '[]') from taken t
on conflict (subject, place, stream) do update set wanted = excluded.wanted
returning encode(c.subject, 'hex') as subject

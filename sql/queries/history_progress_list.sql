-- Lists the stored part of every followed history, for the operator.
-- lane background
-- not null contract, subjects, first_blocks, last_blocks, stopped
select
  p.chain_id,
  encode(p.contract, 'hex') as contract,
  s.stream,
  s.subjects,
  array(select lower(r) from unnest(e.blocks) r order by lower(r))::text[] as first_blocks,
  array(select upper(r) - 1 from unnest(e.blocks) r order by lower(r))::text[] as last_blocks,
  upper(e.wanted) - lower(e.wanted) as wanted,
  (
    select coalesce(sum(upper(r) - lower(r)), 0)::bigint from unnest(int8multirange(e.wanted) - e.blocks) r
  ) as missing,
  h.anchor_number,
  h.stopped_at is not null as stopped
from (
  select c.place, c.stream, count(*) filter (where c.subject <> '' and not isempty(c.blocks))::integer as subjects
  from history_coverage c
  group by c.place, c.stream
) s
join history_place p on p.id = s.place
left join history_coverage e on e.place = s.place and e.stream = s.stream and e.subject = ''
left join history_chain h on h.chain_id = p.chain_id
order by p.chain_id, p.contract, s.stream

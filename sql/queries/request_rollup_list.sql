-- Counts requests of one organization, or of all, by hour or day, endpoint, key and status, newest first. As of the
-- last roll-up of the log, one or two seconds ago. `path` is '' for all paths without an endpoint.
-- lane copy
-- $1 organization_id text | null, null for all
-- $2 from_hour bigint, whole hours since the epoch
-- $3 to_hour bigint, exclusive
-- $4 step_hours integer, 1 or 24; with 24 the range is whole days
-- $5 by_path boolean
-- $6 by_key boolean
-- $7 by_status boolean
-- $8 by_organization boolean
-- $9 max bigint
-- not null hour, requests
select
  h.hour,
  case when $8::boolean then c.organization_id end as organization_id,
  case when $5::boolean then p.path end as path,
  case when $6::boolean then c.api_key_id end as api_key_id,
  case when $7::boolean then r.status end as status,
  sum(h.requests)::text as requests
from request_rollup r
join request_caller c on c.no = r.caller_no
join request_path p on p.no = r.path_no
cross join lateral (
  -- Of a whole day its sum, and no hours.
  select r.day::bigint * 24 as hour, r.requests where $4::integer = 24 and r.requests <> 0
  union all
  select r.day::bigint * 24 + x.slot - 1, x.requests
  from unnest(case when $4::integer <> 24 then r.by_hour end) with ordinality x (requests, slot)
  where x.requests <> 0 and r.day::bigint * 24 + x.slot - 1 >= $2 and r.day::bigint * 24 + x.slot - 1 < $3
) h
where ($1::text is null
    or r.organization_no = (select x.organization_no from request_caller x where x.organization_id = $1 limit 1)) and r.day >= $2 / 24 and r.day <= ($3 - 1) / 24
group by 1, 2, 3, 4, 5
order by 1 desc, 6 desc
limit $9

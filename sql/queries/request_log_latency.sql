-- Computes latency percentiles of an organization's requests by endpoint: of the newest of a range, `max` at most.
-- lane copy
-- $1 organization_id text
-- $2 from_ms bigint
-- $3 to_ms bigint, exclusive
-- $4 max bigint
-- not null requests, p50_ms, p90_ms, p99_ms, max_ms
select l.path, count(*)::integer as requests,
  percentile_disc(0.5) within group (order by l.latency_ms) as p50_ms,
  percentile_disc(0.9) within group (order by l.latency_ms) as p90_ms,
  percentile_disc(0.99) within group (order by l.latency_ms) as p99_ms,
  max(l.latency_ms) as max_ms
from (
  select p.path, x.latency_ms
  from request_log x
  join request_path p on p.no = x.path_no
  where x.organization_no = (select c.organization_no from request_caller c where c.organization_id = $1 limit 1)
    and x.requested_at >= timestamptz 'epoch' + $2::bigint * interval '1 millisecond'
    and x.requested_at < timestamptz 'epoch' + $3::bigint * interval '1 millisecond'
  order by x.requested_at desc
  limit $4
) l
group by l.path
order by requests desc, l.path

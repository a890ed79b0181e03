-- Lists endpoints and features that are switched off, and since when.
-- lane read
-- $1 max bigint
-- not null kind, name, off_at
select s.kind, s.name, s.off_at
from (
  select 'endpoint' as kind, endpoint as name, disabled_at as off_at from endpoint_disabled
  union all
  select 'feature', feature, disabled_at from feature_disabled
) s
order by s.kind, s.name
limit $1

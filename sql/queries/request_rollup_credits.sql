-- Lists the credits charged to an organization by day, newest first; as of the last roll-up of the log.
-- lane copy
-- $1 organization_id text
-- $2 from_day integer, whole days since the epoch
-- $3 max bigint
-- not null requests, credits
select day, sum(requests)::text as requests, sum(credits)::text as credits
from request_rollup
where organization_no = (select c.organization_no from request_caller c where c.organization_id = $1 limit 1)
  and day >= $2
group by day
order by day desc
limit $3

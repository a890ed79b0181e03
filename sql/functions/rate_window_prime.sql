-- Creates missing windows of organizations from the log. Entries move to the end of their 10 ms, which errs on the
-- strict side. After a crash as many additional requests may be admitted in one second as were in flight. Only the
-- process that creates a window fills it: afterwards other processes may have admitted requests with it.
-- lane gate
create or replace function rate_window_prime(p_organizations text[]) returns void language sql
set enable_seqscan = off set enable_bitmapscan = off set enable_mergejoin = off set jit = off as $$
  with made as (
    insert into rate_window (organization_id)
    select o.id from unnest(p_organizations) o (id) order by o.id collate "C"
    on conflict do nothing
    returning organization_id
  )
  insert into rate_window_state as w (organization_id, era, at, upto, since)
  select m.organization_id, floor(extract(epoch from clock_timestamp()) / 2)::integer, e.at, e.upto, 0
  from made m
  cross join lateral (
    select array_agg(s.at order by s.at) as at, array_agg(s.upto order by s.at) as upto
    from (
      select r.at, sum(count(*)) over (order by r.at)::bigint as upto
      from (
        select date_bin('10 ms', l.requested_at, 'epoch') + interval '10 ms' as at
        from request_log l
        where l.organization_no = (
            select c.organization_no from request_caller c where c.organization_id = m.organization_id limit 1
          )
          and l.requested_at > now() - interval '1010 milliseconds'
          and l.admitted
      ) r
      group by r.at
    ) s
  ) e
  where e.at is not null
  on conflict (organization_id, era) do update set at = excluded.at, upto = excluded.upto, since = excluded.since
$$;

-- Makes the windows that are missing for these keys, filled from the log. Entries are moved to the end of their
-- 10 ms, which errs on the strict side. What a crash may add to one second are the requests that were in flight.
create or replace function rate_window_prime(p_hashes text[]) returns void language sql
set enable_seqscan = off set enable_bitmapscan = off set enable_mergejoin = off set jit = off as $$
  insert into rate_window (organization_id, at, upto, since)
  select o.organization_id, coalesce(e.at, '{}'), coalesce(e.upto, '{}'), 0
  from (
    select distinct k.organization_id
    from unnest(p_hashes) h (hash)
    cross join lateral (select x.organization_id from api_key x where x.hash = decode(h.hash, 'hex') offset 0) k
  ) o
  cross join lateral (
    select array_agg(s.at order by s.at) as at, array_agg(s.upto order by s.at) as upto
    from (
      select r.at, sum(count(*)) over (order by r.at)::bigint as upto
      from (
        select date_bin('10 ms', l.requested_at, 'epoch') + interval '10 ms' as at
        from request_log l
        where l.organization_id = o.organization_id
          and l.requested_at > now() - interval '1010 milliseconds'
          and l.admitted
      ) r
      group by r.at
    ) s
  ) e
  order by o.organization_id
  on conflict do nothing
$$;

-- Reads one page of an organization's log, newest first, and the number of all entries that match. Whole days and hours
-- are counted from the rollups and what is pending for them, the two hours at the edges from the log; only hours with
-- entries of the page are read, so page 40,000 costs what page 1 costs. p_path is a path as in the rollups. Bounds are
-- milliseconds since the epoch, the upper one exclusive. At least one row comes back: only the total if the page is
-- empty.
-- lane copy
-- null p_api_key_id, p_path, method, path, status, latency_ms, credits, requested_at, api_key_id, api_key_name
create or replace function request_log_page(
  p_organization_id text, p_from_ms bigint, p_to_ms bigint, p_api_key_id text, p_path text, p_status_min integer,
  p_status_max integer, p_offset bigint, p_limit integer
) returns table (
  total bigint, method text, path text, status integer, latency_ms integer, credits integer, requested_at timestamptz,
  api_key_id text, api_key_name text
) language plpgsql stable
set enable_seqscan = off set enable_bitmapscan = off set enable_mergejoin = off set jit = off as $$
#variable_conflict use_column
declare
  c_hour constant bigint := 3600000;
  v_now constant bigint := floor(extract(epoch from statement_timestamp()) * 1000);
  -- Whole hours: from the first one that begins in the range to the first that does not end in it.
  v_first bigint := (p_from_ms + c_hour - 1) / c_hour;
  v_end bigint := p_to_ms / c_hour;
  -- The parts at the edges, oldest first: bounds and number of matching entries.
  v_low bigint[] := '{}';
  v_high bigint[] := '{}';
  v_count bigint[] := '{}';
  v_rest bigint;
  v_is_short boolean;
  v_edge record;
  -- The organization, and the filters if they are set; -1 for a name that the log does not know.
  v_organization_no integer := coalesce(
    (select c.organization_no from request_caller c where c.organization_id = p_organization_id limit 1), -1);
  v_caller_no integer := case when p_api_key_id is not null then coalesce((
    select c.no from request_caller c where c.organization_id = p_organization_id and c.api_key_id = p_api_key_id), -1) end;
  v_path_no integer := case when p_path is not null then coalesce((
    select x.no from request_path x where x.path = p_path), -1) end;
  -- Pending rows, by hour.
  v_pending_hours bigint[];
  v_pending_requests integer[];
begin
  select coalesce(array_agg(p.hour), '{}'), coalesce(array_agg(u.requests), '{}')
  into v_pending_hours, v_pending_requests
  from request_rollup_pending p
  cross join lateral unnest(p.organizations, p.callers, p.paths, p.statuses, p.requests)
    u (organization_no, caller_no, path_no, status, requests)
  where p.xid >= request_rollup_pending_since()
    and u.organization_no = v_organization_no
    and (v_caller_no is null or u.caller_no = v_caller_no)
    and (v_path_no is null or u.path_no = v_path_no)
    and u.status between p_status_min and p_status_max;

  for v_edge in
    select e.low, e.high, e.low / c_hour as hour
    from (
      select p_from_ms as low, least(v_first * c_hour, p_to_ms) as high
      union all
      select greatest(v_end * c_hour, v_first * c_hour, p_from_ms), p_to_ms
    ) e
    where e.low < e.high
    order by e.low
  loop
    -- Reads the side of the hour that fewer requests can have fallen into by now: the part itself, or the remainder.
    v_is_short := least(v_edge.high, v_now) - v_edge.low
      <= v_edge.low - v_edge.hour * c_hour + greatest(least((v_edge.hour + 1) * c_hour, v_now) - v_edge.high, 0);
    select coalesce(sum(c.requests), 0)
    into v_rest
    from unnest(
      case when v_is_short then array[v_edge.low] else array[v_edge.hour * c_hour, v_edge.high] end,
      case when v_is_short then array[v_edge.high] else array[v_edge.low, (v_edge.hour + 1) * c_hour] end) s (low, high)
    cross join lateral (
      select count(*) as requests
      from request_log l
      where l.organization_no = v_organization_no
        and l.requested_at >= timestamptz 'epoch' + s.low * interval '1 millisecond'
        and l.requested_at < timestamptz 'epoch' + s.high * interval '1 millisecond'
        and (v_caller_no is null or l.caller_no = v_caller_no)
        and (v_path_no is null or l.path_no = v_path_no)
        and l.status between p_status_min and p_status_max
      offset 0
    ) c;
    if not v_is_short then
      select coalesce(sum(r.by_hour[v_edge.hour % 24 + 1]), 0) - v_rest + (
        select coalesce(sum(p.requests), 0)
        from unnest(v_pending_hours, v_pending_requests) p (hour, requests)
        where p.hour = v_edge.hour
      )
      into v_rest
      from request_rollup r
      where r.organization_no = v_organization_no and r.day = v_edge.hour / 24
        and (v_caller_no is null or r.caller_no = v_caller_no)
        and (v_path_no is null or r.path_no = v_path_no)
        and r.status between p_status_min and p_status_max;
    end if;
    v_low := v_low || v_edge.low;
    v_high := v_high || v_edge.high;
    v_count := v_count || v_rest;
  end loop;

  return query
  with counted as materialized (
    select d.day, d.low, d.high,
      case
        when d.high - d.low = 24 then r.requests
        else (select sum(h) from unnest(r.by_hour[d.low - d.day * 24 + 1:d.high - d.day * 24]) h)
      end as requests
    from request_rollup r
    cross join lateral (
      select r.day, greatest(r.day * 24, v_first) as low, least((r.day + 1) * 24, v_end) as high
    ) d
    where r.organization_no = v_organization_no and r.day >= v_first / 24 and r.day <= (v_end - 1) / 24
      and v_first < v_end
      and (v_caller_no is null or r.caller_no = v_caller_no)
      and (v_path_no is null or r.path_no = v_path_no)
      and r.status between p_status_min and p_status_max
    union all
    select d.day, greatest(d.day * 24, v_first), least((d.day + 1) * 24, v_end), p.requests
    from unnest(v_pending_hours, v_pending_requests) p (hour, requests)
    cross join lateral (select (p.hour / 24)::integer as day) d
    where p.hour >= v_first and p.hour < v_end
  ),
  day as materialized (
    select c.day, c.low, c.high, sum(c.requests)::bigint as requests from counted c group by c.day, c.low, c.high
  ),
  part as materialized (
    select null::integer as day, e.low, e.high, e.requests from unnest(v_low, v_high, v_count) e (low, high, requests)
    union all
    select d.day, d.low * c_hour, d.high * c_hour, d.requests from day d
  ),
  -- How many entries are newer than each part.
  ranked as materialized (
    select p.day, p.low, p.high, p.requests,
      (sum(p.requests) over (order by p.low desc))::bigint - p.requests as newer
    from part p
    where p.requests > 0
  ),
  -- Parts that hold entries of the page; days among them hour by hour.
  near as materialized (
    select r.* from ranked r where r.newer < p_offset + p_limit and r.newer + r.requests > p_offset
  ),
  hourly as materialized (
    select n.low, n.high, n.requests, n.newer from near n where n.day is null
    union all
    select h.low, h.low + c_hour, h.requests,
      n.newer + (sum(h.requests) over (partition by n.day order by h.low desc))::bigint - h.requests
    from near n
    cross join lateral (
      select s.hour * c_hour as low, sum(s.requests)::bigint as requests
      from (
        select n.day * 24::bigint + x.slot - 1 as hour, x.requests
        from request_rollup r
        cross join lateral unnest(r.by_hour) with ordinality x (requests, slot)
        where r.organization_no = v_organization_no and r.day = n.day
          and (v_caller_no is null or r.caller_no = v_caller_no)
          and (v_path_no is null or r.path_no = v_path_no)
          and r.status between p_status_min and p_status_max
        union all
        select p.hour, p.requests
        from unnest(v_pending_hours, v_pending_requests) p (hour, requests)
        where p.hour / 24 = n.day
      ) s
      group by s.hour
    ) h
    where n.day is not null and h.low >= n.low and h.low < n.high
  ),
  chosen as materialized (
    select h.low, h.high, h.newer, greatest(p_offset - h.newer, 0) as skip
    from hourly h
    where h.requests > 0 and h.newer < p_offset + p_limit and h.newer + h.requests > p_offset
  ),
  page as (
    select x.*
    from (select c.* from chosen c order by c.low desc) c
    cross join lateral (
      select l.* from request_log l
      where l.organization_no = v_organization_no
        and l.requested_at >= timestamptz 'epoch' + c.low * interval '1 millisecond'
        and l.requested_at < timestamptz 'epoch' + c.high * interval '1 millisecond'
        and (v_caller_no is null or l.caller_no = v_caller_no)
        and (v_path_no is null or l.path_no = v_path_no)
        and l.status between p_status_min and p_status_max
      order by l.requested_at desc, l.settlement_id desc
      offset c.skip limit p_limit
    ) x
    order by x.requested_at desc, x.settlement_id desc
    limit p_limit
  )
  select t.total, p.method, case when p.path_no = 0 then p.asked else x.path end, p.status::integer, p.latency_ms, p.credits, p.requested_at,
    c.api_key_id, coalesce(k.name, c.api_key_id)
  from (select coalesce(sum(r.requests), 0)::bigint as total from ranked r) t
  left join page p on true
  left join request_path x on x.no = p.path_no
  left join request_caller c on c.no = p.caller_no
  left join api_key k on k.organization_id = p_organization_id and k.id = c.api_key_id
  order by p.requested_at desc, p.settlement_id desc;
end
$$;

-- Drops the log's oldest partition, a whole week, with its rollups if all of it is older than p_days, and records what
-- it charged. Holds the table's lock only for the drop itself, and gives up on it before requests behind it time out.
-- Returns the dropped partition; no row if none is old enough.
-- lane background
create or replace function request_log_drop(p_days integer)
returns table (dropped text, requests bigint, credits bigint) language plpgsql
set lock_timeout = '200ms' set timezone = 'UTC' as $$
#variable_conflict use_column
declare
  v_before timestamptz;
  v_credits bigint := 0;
  v_name text;
  v_requests bigint := 0;
  v_sum record;
begin
  perform pg_advisory_xact_lock(hashtext('request_log_partitions'));
  select c.relname, to_timestamp(right(c.relname, 8), 'YYYYMMDD') + interval '168 hours'
  into v_name, v_before
  from pg_inherits i
  join pg_class c on c.oid = i.inhrelid
  where i.inhparent = 'request_log'::regclass and c.relname ~ '^request_log_[0-9]{8}$'
  order by c.relname
  limit 1;
  if v_before is null or v_before > now() - p_days * interval '1 day' then
    -- Rows without a partition are dropped by the same rule.
    v_name := 'request_log_rest';
    v_before := date_bin('7 days', now() - p_days * interval '1 day', timestamptz '1970-01-05 00:00:00+00');
    if not exists (select from request_log_rest l where l.requested_at < v_before) then
      return;
    end if;
  end if;

  perform pg_advisory_xact_lock(hashtext('request_rollup'));
  -- The first pass is the long one; the second, under the lock, includes rows that were voided meanwhile.
  for v_pass in 1 .. 2 loop
    if v_pass = 2 then
      lock table request_log in access exclusive mode;
    end if;
    with rolled as (
      delete from request_rollup r where r.day < extract(epoch from v_before) / 86400
      returning r.organization_no, r.requests, r.credits
    ),
    pending as (
      delete from request_rollup_pending p where p.hour < extract(epoch from v_before) / 3600
      returning p.organizations, p.requests, p.credits
    ),
    gone as (
      delete from request_log_rest l where l.requested_at < v_before
    ),
    remembered as (
      insert into request_log_dropped as d (organization_id, requests, credits, before)
      select c.organization_id, sum(s.requests), sum(s.credits), v_before
      from (
        select r.organization_no, r.requests, r.credits from rolled r
        union all
        select u.organization_no, u.requests, u.credits
        from pending p cross join lateral unnest(p.organizations, p.requests, p.credits) u (organization_no, requests, credits)
      ) s
      join request_caller c on c.no = s.organization_no
      group by c.organization_id
      on conflict (organization_id) do update
      set requests = d.requests + excluded.requests, credits = d.credits + excluded.credits,
        before = greatest(d.before, excluded.before)
    )
    select coalesce(sum(s.requests), 0) as requests, coalesce(sum(s.credits), 0) as credits
    into v_sum
    from (
      select r.requests, r.credits from rolled r
      union all
      select u.requests, u.credits from pending p cross join lateral unnest(p.requests, p.credits) u (requests, credits)
    ) s;
    v_requests := v_requests + v_sum.requests;
    v_credits := v_credits + v_sum.credits;
  end loop;
  if v_name <> 'request_log_rest' then
    execute format('drop table %I', v_name);
  end if;
  return query select v_name, v_requests, v_credits;
end
$$;

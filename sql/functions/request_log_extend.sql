-- Creates missing partitions of p_weeks weeks, from this week on, and moves rows that were logged before into them.
-- Gives up on a lock before requests behind it time out. Returns the number of created partitions.
-- lane background
create or replace function request_log_extend(p_weeks integer) returns integer language plpgsql
set lock_timeout = '200ms' as $$
declare
  v_from timestamptz;
  v_made integer := 0;
  v_name text;
  v_to timestamptz;
begin
  perform pg_advisory_xact_lock(hashtext('request_log_partitions'));
  for v_no in 0 .. p_weeks - 1 loop
    v_from := date_bin('7 days', now(), timestamptz '1970-01-05 00:00:00+00') + v_no * interval '168 hours';
    v_to := v_from + interval '168 hours';
    v_name := 'request_log_' || to_char(v_from at time zone 'UTC', 'YYYYMMDD');
    continue when to_regclass(v_name) is not null;
    lock table only request_log_rest in access exclusive mode;
    execute format('create table %I (like request_log including all)', v_name);
    execute format(
      'with moved as (
         delete from request_log_rest where requested_at >= %L and requested_at < %L returning *
       )
       insert into %I select * from moved', v_from, v_to, v_name);
    execute format('alter table request_log attach partition %I for values from (%L) to (%L)', v_name, v_from, v_to);
    v_made := v_made + 1;
  end loop;
  return v_made;
end
$$;

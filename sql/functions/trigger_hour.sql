-- Charges triggers for the hours that they used up to the last full hour of the database's clock, by trigger_hour_at.
-- p_hour: of earlier releases, which told the hour of their own clock; it is not read.
-- lane background
create or replace function trigger_hour(p_hour bigint, p_limit integer) returns integer language sql as $$
  select trigger_hour_at(now(), p_limit)
$$;

-- Takes a piece of work for some seconds, or keeps it for so long; false if another process has it. Whoever takes several
-- takes them in one order.
create or replace function lease_take(p_job text, p_subject text, p_holder text, p_sec integer) returns boolean
language plpgsql as $$
begin
  insert into lease as l (job, subject, holder, until)
  values (p_job, p_subject, p_holder, now() + make_interval(secs => p_sec))
  on conflict (job, subject) do update set holder = excluded.holder, until = excluded.until
  where l.holder = excluded.holder or l.until <= now();
  return found;
end
$$;

-- Takes or renews a lease for some seconds; false if another process has it. Callers take several leases in one order.
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

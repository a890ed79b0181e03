-- Releases a lease. False if the holder no longer has it, because it expired and another process took it: then the
-- other process records the work as done.
create or replace function lease_release(p_job text, p_subject text, p_holder text) returns boolean
language plpgsql as $$
begin
  delete from lease l where l.job = p_job and l.subject = p_subject and l.holder = p_holder;
  return found;
end
$$;

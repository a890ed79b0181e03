-- Leaves a piece of work to others. False if it is not the holder's any more, because its time was over and another
-- process took it: that it was done is then for the other one to note.
create or replace function lease_release(p_job text, p_subject text, p_holder text) returns boolean
language plpgsql as $$
begin
  delete from lease l where l.job = p_job and l.subject = p_subject and l.holder = p_holder;
  return found;
end
$$;

-- Records the last transaction that changed a trigger. A loop that repeats all transactions since the oldest one
-- running at its last list misses no change.
create or replace function watch_stamp() returns trigger language plpgsql as $$
begin
  new.changed := pg_current_xact_id();
  return new;
end
$$;

create or replace trigger watch_stamped before insert or update on watch
  for each row execute function watch_stamp();

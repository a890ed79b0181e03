-- Notes which transaction changed a trigger last. A loop that read all changes of transactions before the oldest one that
-- was running then misses none.
create or replace function watch_stamp() returns trigger language plpgsql as $$
begin
  new.changed := pg_current_xact_id();
  return new;
end
$$;

create or replace trigger watch_stamped before insert or update on watch
  for each row execute function watch_stamp();

-- Records the last transaction that changed a trigger. A loop that repeats all transactions since the oldest one
-- running at its last list misses no change. That an hour was paid is none.
create or replace function watch_stamp() returns trigger language plpgsql as $$
declare
  v_new watch%rowtype := new;
begin
  if tg_op = 'UPDATE' and new.paid_until <> old.paid_until then
    v_new.paid_until := old.paid_until;
    if v_new is not distinct from old then
      return new;
    end if;
  end if;
  new.changed := pg_current_xact_id();
  return new;
end
$$;

create or replace trigger watch_stamped before insert or update on watch
  for each row execute function watch_stamp();

-- Stops and resumes the meter of a trigger: while it is paused or expired its paid time does not pass. A trigger that is
-- deleted in an hour that is not paid yet leaves it to be charged.
create or replace function watch_meter() returns trigger language plpgsql as $$
declare
  v_idle_at timestamptz := least(old.idle_at, old.expires_at);
begin
  if tg_op = 'DELETE' then
    insert into watch_owed (organization_id, id, api_key_id, hour_credits)
    select old.organization_id, old.id, old.api_key_id, old.hour_credits where old.paid_until < least(now(), v_idle_at);
    return old;
  end if;
  if v_idle_at > now() then
    v_idle_at := null;
  end if;
  if new.paused_for is null and coalesce(new.expires_at > now(), true) then
    new.idle_at := null;
    new.paid_until := new.paid_until + coalesce(now() - v_idle_at, interval '0');
  else
    new.idle_at := coalesce(v_idle_at, now());
  end if;
  return new;
end
$$;

create or replace trigger watch_metered before delete or update of paused_for, expires_at on watch
  for each row execute function watch_meter();

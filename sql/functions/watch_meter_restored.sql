-- Moves the paid time of an organization's triggers on by as long as it was suspended: they were not evaluated.
create or replace function watch_meter_restored() returns trigger language plpgsql as $$
begin
  update watch w set paid_until = w.paid_until + (least(now(), w.idle_at, w.expires_at) - old.suspended_at)
  where w.organization_id = new.id and least(now(), w.idle_at, w.expires_at) > old.suspended_at;
  return null;
end
$$;

create or replace trigger organization_restored after update of suspended_at on organization
  for each row when (old.suspended_at is not null and new.suspended_at is null)
  execute function watch_meter_restored();

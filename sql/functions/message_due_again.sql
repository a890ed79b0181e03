-- Counts how often a message that was done is made due again, and leaves it as it is after ten times: each is free and
-- posts to any address that its webhook names.
create or replace function message_due_again() returns trigger language plpgsql as $$
begin
  if old.redeliveries >= 10 then
    return null;
  end if;
  new.redeliveries := old.redeliveries + 1;
  return new;
end
$$;

create or replace trigger message_redelivered before update of due_at on message
  for each row when (old.due_at is null and new.due_at is not null) execute function message_due_again();

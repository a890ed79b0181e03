-- Keeps until when earlier secrets of a webhook are valid when another follows, of 16 generations at most.
create or replace function webhook_rotated() returns trigger language plpgsql as $$
declare
  v_overlaps timestamptz[] := (array_prepend(old.overlap_until, old.older_overlaps))[1:15];
begin
  -- Up to the last that is still valid: a place in the list stands for a generation.
  select coalesce(v_overlaps[1:max(o.no)], '{}') into new.older_overlaps
  from unnest(v_overlaps) with ordinality o (until, no) where o.until > now();
  return new;
end
$$;

create or replace trigger webhook_rotated before update of generation on webhook
  for each row when (new.generation = old.generation + 1) execute function webhook_rotated();

-- Notes that all rows of the subjects in blocks p_from to p_to are stored; the caller stores them in the same statement.
-- Returns the place's short name, or null if the chain's history is stopped and nothing may be stored.
create or replace function history_cover(
  p_chain_id bigint, p_contract bytea, p_stream text, p_subjects bytea[], p_from bigint, p_to bigint,
  p_witnesses integer
) returns smallint
language plpgsql as $$
declare
  v_place smallint;
begin
  if exists (
    select from history_chain c where c.chain_id = p_chain_id and c.stopped_at is not null
  ) then
    return null;
  end if;
  v_place := history_place_id(p_chain_id, p_contract);
  insert into history_coverage as c (subject, place, stream, blocks, witnesses)
  select s.subject, v_place, p_stream, int8multirange(int8range(p_from, p_to, '[]')), p_witnesses
  from (select distinct u.subject from unnest(p_subjects) u (subject) order by u.subject) s
  on conflict (subject, place, stream) do update
  set blocks = c.blocks + excluded.blocks, witnesses = least(c.witnesses, excluded.witnesses);
  return v_place;
end
$$;

-- Records that all rows of the subjects in blocks p_from to p_to are stored, and whether two endpoints agreed on them;
-- the caller stores the rows in the same statement. Returns the target's short name, or null if nothing may be stored:
-- the chain's history is stopped, or was rolled back since the rows were read. `is_doubted`: stored rows of these
-- blocks may come from a single endpoint, and the new rows replace them.
create or replace function history_cover(
  p_chain_id bigint, p_contract bytea, p_stream text, p_subjects bytea[], p_from bigint, p_to bigint,
  p_witnesses integer, p_epoch bigint, out place integer, out is_doubted boolean
)
language plpgsql as $$
declare
  v_range int8range := int8range(p_from, p_to, '[]');
  v_agreed int8multirange := case when p_witnesses >= 2 then int8multirange(v_range) else '{}' end;
begin
  -- A roll-back of the history waits until this is stored; after one, this sees its epoch.
  lock table history_coverage in row exclusive mode;
  if exists (select from history_chain c where c.chain_id = p_chain_id and c.stopped_at is not null)
    or p_epoch <> coalesce((select c.epoch from history_chain c where c.chain_id = p_chain_id), 0)
  then
    return;
  end if;
  place := history_place_id(p_chain_id, p_contract);
  is_doubted := p_witnesses >= 2 and exists (
    select from history_coverage c
    where c.place = history_cover.place and c.stream = p_stream and c.blocks <> c.agreed
      and (c.subject = '' or p_subjects = array[''::bytea] or c.subject = any (p_subjects))
      and (c.blocks - c.agreed) && v_range
  );
  insert into history_coverage as c (subject, place, stream, blocks, agreed, witnesses)
  select s.subject, history_cover.place, p_stream, int8multirange(v_range), v_agreed, p_witnesses
  from (select distinct u.subject from unnest(p_subjects) u (subject) order by u.subject) s
  on conflict on constraint history_coverage_pkey do update
  set blocks = c.blocks + excluded.blocks, agreed = c.agreed + excluded.agreed,
    witnesses = least(c.witnesses, excluded.witnesses);
end
$$;

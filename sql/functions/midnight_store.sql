-- Stores the last block at or before a midnight, and how many endpoints gave it. A final block replaces one that was
-- not final, and one that fewer endpoints gave if several give the new one; while none is final, the newest replaces
-- others. Deletes snapshots that were read at the replaced block. True if the block is now the one of that midnight.
-- Bytes are in hexadecimal without prefix.
-- lane read
create or replace function midnight_store(
  p_chain_id bigint, p_day integer, p_block bigint, p_hash text, p_parent_hash text, p_time bigint,
  p_is_final boolean, p_witnesses integer
) returns boolean
language plpgsql as $$
declare
  v_hash bytea := decode(p_hash, 'hex');
  v_before record;
begin
  insert into midnight (chain_id, day, block, hash, parent_hash, time, is_final, witnesses)
  values (p_chain_id, p_day, p_block, v_hash, decode(p_parent_hash, 'hex'), p_time, p_is_final, p_witnesses)
  on conflict (chain_id, day) do nothing;
  select m.hash, m.is_final, m.witnesses into v_before from midnight m
  where m.chain_id = p_chain_id and m.day = p_day for update;
  if v_before.hash = v_hash then
    update midnight m
    set is_final = m.is_final or p_is_final, witnesses = greatest(m.witnesses, p_witnesses)
    where m.chain_id = p_chain_id and m.day = p_day
      and ((p_is_final and not m.is_final) or p_witnesses > m.witnesses);
    return true;
  end if;
  if v_before.is_final and (not p_is_final or p_witnesses < 2 or p_witnesses <= v_before.witnesses) then
    return false;
  end if;
  delete from midnight_row r using history_place p
  where p.id = r.place and p.chain_id = p_chain_id and r.day = p_day;
  update midnight m
  set block = p_block, hash = v_hash, parent_hash = decode(p_parent_hash, 'hex'), time = p_time,
    is_final = p_is_final, witnesses = p_witnesses
  where m.chain_id = p_chain_id and m.day = p_day;
  return true;
end
$$;

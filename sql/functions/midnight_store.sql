-- Notes the last block at or before a midnight. A final block takes the place of one that was not, and so does the
-- newest found while none is final; the snapshots of the block that goes are dropped. True if the block is now the one
-- of that midnight. Bytes come in hexadecimal without prefix.
create or replace function midnight_store(
  p_chain_id bigint, p_day integer, p_block bigint, p_hash text, p_parent_hash text, p_time bigint, p_is_final boolean
) returns boolean
language plpgsql as $$
declare
  v_hash bytea := decode(p_hash, 'hex');
  v_before record;
begin
  insert into midnight (chain_id, day, block, hash, parent_hash, time, is_final)
  values (p_chain_id, p_day, p_block, v_hash, decode(p_parent_hash, 'hex'), p_time, p_is_final)
  on conflict (chain_id, day) do nothing;
  select m.hash, m.is_final into v_before from midnight m
  where m.chain_id = p_chain_id and m.day = p_day for update;
  if v_before.hash = v_hash then
    update midnight m set is_final = true
    where m.chain_id = p_chain_id and m.day = p_day and p_is_final and not m.is_final;
    return true;
  end if;
  if v_before.is_final then
    return false;
  end if;
  delete from lending_snapshot s using history_place p
  where p.id = s.place and p.chain_id = p_chain_id and s.day = p_day;
  update midnight m
  set block = p_block, hash = v_hash, parent_hash = decode(p_parent_hash, 'hex'), time = p_time, is_final = p_is_final
  where m.chain_id = p_chain_id and m.day = p_day;
  return true;
end
$$;

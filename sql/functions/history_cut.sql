-- Deletes the rows and prices of a chain in blocks after p_number. Returns how many of each were deleted.
create or replace function history_cut(p_chain_id bigint, p_number bigint)
returns table (rows bigint, prices bigint)
language plpgsql as $$
declare
  v_places integer[] := array(select p.id from history_place p where p.chain_id = p_chain_id);
  v_kept int8multirange := int8multirange(int8range(null, p_number, '(]'));
begin
  delete from history_row r where r.place = any (v_places) and r.block > p_number;
  get diagnostics rows = row_count;
  delete from price_at p where p.chain_id = p_chain_id and p.block > p_number;
  get diagnostics prices = row_count;
  update history_coverage c
  set blocks = c.blocks * v_kept, agreed = c.agreed * v_kept, checked_to = least(c.checked_to, p_number)
  where c.place = any (v_places);
  return next;
end
$$;

-- Deletes a chain's rows, prices, anchor and stop, so that its history is read again; running processes see the new
-- epoch. Daily snapshots stay, because endpoints may no longer have the state of past days.
-- lane background
create or replace function history_forget(p_chain_id bigint)
returns table (rows bigint, prices bigint)
language plpgsql as $$
begin
  -- Every store of rows locks this row first: this waits for those under way, and later ones wait for this.
  lock table history_coverage in exclusive mode;
  insert into history_chain as c (chain_id, epoch)
  values (p_chain_id, 1)
  on conflict (chain_id) do update
  set anchor_number = null, anchor_hash = null, anchor_witnesses = 1, previous_number = null, previous_hash = null,
    stopped_at = null, epoch = c.epoch + 1;
  return query select t.rows, t.prices from history_cut(p_chain_id, -1) t;
  delete from history_coverage c using history_place p where p.id = c.place and p.chain_id = p_chain_id;
end
$$;

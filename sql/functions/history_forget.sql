-- Forgets the rows and prices that are stored of a chain, its anchor, and that it was stopped, so that all of
-- it is read anew; its epoch tells running processes. Its daily snapshots stay: those of past days may be lost to every
-- endpoint.
-- lane background
create or replace function history_forget(p_chain_id bigint)
returns table (rows bigint, prices bigint)
language plpgsql as $$
begin
  -- Whoever stores rows notes it there first: what is being stored is waited for, what comes next waits for us.
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

-- Forgets the events, flows and prices that are stored of a chain, and that it was stopped, so that all of it is read
-- anew. Its daily snapshots stay: those of past days may be lost to every endpoint.
create or replace function history_forget(p_chain_id bigint)
returns table (events bigint, flows bigint, prices bigint)
language plpgsql as $$
declare
  v_places smallint[] := array(select p.id from history_place p where p.chain_id = p_chain_id);
begin
  -- Whoever stores rows notes it there first: what is being stored is waited for, what comes next waits for us.
  lock table history_coverage in exclusive mode;
  delete from lending_event e where e.place = any (v_places);
  get diagnostics events = row_count;
  delete from position_flow f where f.place = any (v_places);
  get diagnostics flows = row_count;
  delete from price_at p where p.chain_id = p_chain_id;
  get diagnostics prices = row_count;
  delete from history_coverage c where c.place = any (v_places);
  delete from history_chain c where c.chain_id = p_chain_id;
  return next;
end
$$;

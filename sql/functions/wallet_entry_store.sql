-- Stores entries of wallets and their coverage. False if the chain's history is stopped or was rolled back; then
-- nothing is stored. Bytes are in hexadecimal without prefix, the subject '' for all subjects.
-- lane background
create or replace function wallet_entry_store(
  p_chain_id bigint, p_contract text, p_stream text, p_subjects text[], p_from bigint, p_to bigint, p_witnesses integer,
  p_wallets text[], p_entries text[], p_blocks bigint[], p_epoch bigint
) returns boolean
language plpgsql as $$
declare
  v_subjects bytea[] := array(select decode(u.subject, 'hex') from unnest(p_subjects) u (subject));
  v_place integer := (
    select c.place from history_cover(
      p_chain_id, decode(p_contract, 'hex'), p_stream, v_subjects, p_from, p_to, p_witnesses, p_epoch
    ) c
  );
begin
  if v_place is null then
    return false;
  end if;
  insert into wallet_entry as e (wallet, place, entry, block)
  select decode(u.wallet, 'hex'), v_place, decode(u.entry, 'hex'), min(u.block)
  from unnest(p_wallets, p_entries, p_blocks) u (wallet, entry, block)
  group by u.wallet, u.entry
  -- In one order, so that concurrent calls with the same rows do not deadlock.
  order by u.wallet collate "C", u.entry collate "C"
  on conflict (wallet, place, entry) do update set block = excluded.block where excluded.block < e.block;
  return true;
end
$$;

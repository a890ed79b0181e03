-- Stores lending events and their coverage. Stored events stay, but events on which two endpoints agreed replace those
-- of a single endpoint. False if the chain's history is stopped or was rolled back; then nothing is stored. Bytes are
-- in hexadecimal without prefix, the subject '' for all subjects; '' and -1 stand for none.
-- lane background
create or replace function lending_event_store(
  p_chain_id bigint, p_contract text, p_stream text, p_subjects text[], p_from bigint, p_to bigint, p_witnesses integer,
  p_wallets text[], p_markets text[], p_blocks bigint[], p_log_indexes integer[], p_legs integer[], p_kinds text[], p_assets text[],
  p_amounts numeric[], p_counterparties text[], p_tx_hashes text[], p_times bigint[], p_indexes numeric[],
  p_epoch bigint
) returns boolean
language plpgsql as $$
declare
  v_subjects bytea[] := array(select decode(u.subject, 'hex') from unnest(p_subjects) u (subject));
  v_place integer;
  v_is_doubted boolean;
begin
  select c.place, c.is_doubted into v_place, v_is_doubted from history_cover(
    p_chain_id, decode(p_contract, 'hex'), p_stream, v_subjects, p_from, p_to, p_witnesses, p_epoch
  ) c;
  if v_place is null then
    return false;
  end if;
  if v_is_doubted then
    delete from lending_event e
    where e.place = v_place and e.block between p_from and p_to
      and (v_subjects = array[''::bytea] or e.wallet = any (v_subjects));
  end if;
  insert into lending_event
    (wallet, market, place, block, log_index, leg, kind, asset, amount, counterparty, tx_hash, time, index_ray)
  select
    decode(u.wallet, 'hex'), decode(nullif(u.market, ''), 'hex'), v_place, u.block, u.log_index, u.leg, u.kind,
    decode(u.asset, 'hex'), u.amount, decode(nullif(u.counterparty, ''), 'hex'), decode(u.tx_hash, 'hex'),
    nullif(u.time, -1), nullif(u.index_ray, -1)
  from unnest(
    p_wallets, p_markets, p_blocks, p_log_indexes, p_legs, p_kinds, p_assets, p_amounts, p_counterparties, p_tx_hashes,
    p_times, p_indexes
  ) u (wallet, market, block, log_index, leg, kind, asset, amount, counterparty, tx_hash, time, index_ray)
  where p_witnesses >= 2 or not history_is_agreed(v_place, p_stream, decode(u.wallet, 'hex'), u.block)
  -- A wallet's rows lie together, which costs less to store and to read.
  order by u.wallet collate "C", u.block, u.log_index, u.leg
  on conflict do nothing;
  return true;
end
$$;

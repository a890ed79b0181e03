-- What a shop said that wallets' pawns are worth.
create table pawn_appraisal (
  wallet bytea not null,
  log_index integer not null,
  counter bytea not null,
  cents numeric(78, 0) not null,
  tx_hash bytea not null,
  primary key (wallet, place, block, log_index)
) inherits (history_row);

create function pawn_appraisal_store(
  p_chain_id bigint, p_contract text, p_stream text, p_subjects text[], p_from bigint, p_to bigint, p_witnesses integer,
  p_epoch bigint, p_wallets text[], p_blocks bigint[], p_log_indexes integer[], p_counters text[], p_cents numeric[],
  p_tx_hashes text[]
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
    delete from pawn_appraisal a
    where a.place = v_place and a.block between p_from and p_to
      and (v_subjects = array[''::bytea] or a.wallet = any (v_subjects));
  end if;
  insert into pawn_appraisal (wallet, place, block, log_index, counter, cents, tx_hash)
  select decode(u.wallet, 'hex'), v_place, u.block, u.log_index, decode(u.counter, 'hex'), u.cents, decode(u.tx_hash, 'hex')
  from unnest(p_wallets, p_blocks, p_log_indexes, p_counters, p_cents, p_tx_hashes)
    u (wallet, block, log_index, counter, cents, tx_hash)
  where p_witnesses >= 2 or not history_is_agreed(v_place, p_stream, decode(u.wallet, 'hex'), u.block)
  on conflict do nothing;
  return true;
end
$$;

-- Stores flows of liquidity positions and their coverage. Stored flows stay, but flows on which two endpoints agreed
-- replace those of a single endpoint. False if the chain's history is stopped or was rolled back; then nothing is
-- stored. Bytes are in hexadecimal without prefix; a subject is a token id in 32 bytes or '' for all subjects, and
-- p_subject_ids are the subjects as numbers. A time of -1 stands for none.
-- lane background
create or replace function position_flow_store(
  p_chain_id bigint, p_contract text, p_stream text, p_subjects text[], p_from bigint, p_to bigint, p_witnesses integer,
  p_token_ids numeric[], p_blocks bigint[], p_log_indexes integer[], p_kinds text[], p_liquidities numeric[],
  p_amounts0 numeric[], p_amounts1 numeric[], p_tx_hashes text[], p_times bigint[],
  p_epoch bigint, p_row_subjects text[], p_subject_ids numeric[]
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
    delete from position_flow f
    where f.place = v_place and f.block between p_from and p_to
      and (v_subjects = array[''::bytea] or f.token_id = any (p_subject_ids));
  end if;
  insert into position_flow
    (token_id, place, block, log_index, kind, liquidity, amount0, amount1, tx_hash, time)
  select
    u.token_id, v_place, u.block, u.log_index, u.kind, u.liquidity, u.amount0, u.amount1, decode(u.tx_hash, 'hex'),
    nullif(u.time, -1)
  from unnest(
    p_token_ids, p_blocks, p_log_indexes, p_kinds, p_liquidities, p_amounts0, p_amounts1, p_tx_hashes, p_times,
    p_row_subjects
  ) u (token_id, block, log_index, kind, liquidity, amount0, amount1, tx_hash, time, subject)
  where p_witnesses >= 2 or not history_is_agreed(v_place, p_stream, decode(u.subject, 'hex'), u.block)
  on conflict do nothing;
  return true;
end
$$;

-- Stores flows of liquidity positions and what is complete with them. Flows that are there already stay as they are.
-- False if the chain's history is stopped; nothing is stored then. Bytes come in hexadecimal without prefix.
create or replace function position_flow_store(
  p_chain_id bigint, p_contract text, p_stream text, p_subjects text[], p_from bigint, p_to bigint, p_witnesses integer,
  p_token_ids numeric[], p_blocks bigint[], p_log_indexes integer[], p_kinds text[], p_liquidities numeric[],
  p_amounts0 numeric[], p_amounts1 numeric[], p_tx_hashes text[], p_times bigint[]
) returns boolean
language plpgsql as $$
declare
  v_place smallint;
begin
  v_place := history_cover(
    p_chain_id, decode(p_contract, 'hex'), p_stream,
    array(select decode(u.subject, 'hex') from unnest(p_subjects) u (subject)), p_from, p_to, p_witnesses
  );
  if v_place is null then
    return false;
  end if;
  insert into position_flow
    (token_id, place, block, log_index, kind, liquidity, amount0, amount1, tx_hash, time)
  select
    u.token_id, v_place, u.block, u.log_index, u.kind, u.liquidity, u.amount0, u.amount1, decode(u.tx_hash, 'hex'),
    nullif(u.time, -1)
  from unnest(
    p_token_ids, p_blocks, p_log_indexes, p_kinds, p_liquidities, p_amounts0, p_amounts1, p_tx_hashes, p_times
  ) u (token_id, block, log_index, kind, liquidity, amount0, amount1, tx_hash, time)
  on conflict do nothing;
  return true;
end
$$;

-- Stores changes of liquidity positions and their coverage. Stored changes stay, but changes on which two endpoints
-- agreed replace those of a single endpoint. False if the chain's history is stopped or was rolled back; then nothing
-- is stored. Bytes are in hexadecimal without prefix; a subject is the id of a pool or '' for all subjects. A time of
-- -1 stands for none.
-- lane background
create or replace function liquidity_change_store(
  p_chain_id bigint, p_contract text, p_stream text, p_subjects text[], p_from bigint, p_to bigint, p_witnesses integer,
  p_token_ids numeric[], p_blocks bigint[], p_log_indexes integer[], p_pools text[], p_ticks_lower integer[],
  p_ticks_upper integer[], p_liquidities numeric[], p_tx_hashes text[], p_times bigint[], p_epoch bigint
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
    delete from liquidity_change c
    where c.place = v_place and c.block between p_from and p_to
      and (v_subjects = array[''::bytea] or c.pool = any (v_subjects))
      -- A row that is stored again unchanged keeps its amounts.
      and not exists (
        select from unnest(p_token_ids, p_blocks, p_log_indexes, p_pools, p_liquidities, p_tx_hashes)
          u (token_id, block, log_index, pool, liquidity, tx_hash)
        where u.token_id = c.token_id and u.block = c.block and u.log_index = c.log_index
          and decode(u.pool, 'hex') = c.pool and u.liquidity = c.liquidity and decode(u.tx_hash, 'hex') = c.tx_hash
      );
  end if;
  insert into liquidity_change
    (token_id, place, block, log_index, pool, tick_lower, tick_upper, liquidity, tx_hash, time)
  select
    u.token_id, v_place, u.block, u.log_index, decode(u.pool, 'hex'), u.tick_lower, u.tick_upper, u.liquidity,
    decode(u.tx_hash, 'hex'), nullif(u.time, -1)
  from unnest(
    p_token_ids, p_blocks, p_log_indexes, p_pools, p_ticks_lower, p_ticks_upper, p_liquidities, p_tx_hashes, p_times
  ) u (token_id, block, log_index, pool, tick_lower, tick_upper, liquidity, tx_hash, time)
  where p_witnesses >= 2 or not history_is_agreed(v_place, p_stream, decode(u.pool, 'hex'), u.block)
  on conflict do nothing;
  return true;
end
$$;

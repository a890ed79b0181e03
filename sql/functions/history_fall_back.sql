-- Rolls a chain's anchor back to an older block and deletes the rows after it. False if the history was rolled back
-- meanwhile.
-- lane background
create or replace function history_fall_back(
  p_chain_id bigint, p_epoch bigint, p_number bigint, p_hash text, p_witnesses integer
) returns boolean
language plpgsql as $$
begin
  lock table history_coverage in exclusive mode;
  update history_chain c
  set anchor_number = p_number, anchor_hash = decode(p_hash, 'hex'), anchor_witnesses = p_witnesses,
    previous_number = null, previous_hash = null, stopped_at = null, epoch = c.epoch + 1
  where c.chain_id = p_chain_id and c.epoch = p_epoch;
  if not found then
    return false;
  end if;
  perform history_cut(p_chain_id, p_number);
  return true;
end
$$;

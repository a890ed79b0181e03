-- Advances a chain's anchor to a newer final block, and keeps the one before it, unless its history is stopped or was
-- rolled back meanwhile.
-- lane read
-- $1 chain_id bigint
-- $2 number bigint
-- $3 hash text, hexadecimal without prefix
-- $4 witnesses smallint
-- $5 epoch bigint
insert into history_chain as c (chain_id, anchor_number, anchor_hash, anchor_witnesses, epoch)
values ($1, $2, decode($3, 'hex'), $4, $5)
on conflict (chain_id) do update
set
  previous_number = c.anchor_number, previous_hash = c.anchor_hash, anchor_number = excluded.anchor_number,
  anchor_hash = excluded.anchor_hash, anchor_witnesses = excluded.anchor_witnesses
where
  (c.anchor_number is null or c.anchor_number < excluded.anchor_number) and c.stopped_at is null
  and c.epoch = excluded.epoch

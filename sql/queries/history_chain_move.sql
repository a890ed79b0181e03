-- Moves a chain's anchor to a newer final block, unless its history is stopped.
-- $1 chain_id bigint
-- $2 number bigint
-- $3 hash text, hexadecimal without prefix
insert into history_chain as c (chain_id, anchor_number, anchor_hash)
values ($1, $2, decode($3, 'hex'))
on conflict (chain_id) do update
set anchor_number = excluded.anchor_number, anchor_hash = excluded.anchor_hash
where c.anchor_number < excluded.anchor_number and c.stopped_at is null

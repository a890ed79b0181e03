-- Stores a first block; one that is stored stays.
-- lane read
-- $1 chain_id bigint
-- $2 contract text, hexadecimal without prefix
-- $3 getters text
-- $4 block bigint
insert into first_block (chain_id, contract, getters, block)
values ($1, decode($2, 'hex'), $3, $4)
on conflict do nothing

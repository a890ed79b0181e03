-- Lists the first blocks that were found.
-- lane read
select chain_id, contract, getters, block from first_block

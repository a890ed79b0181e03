-- Notes the last block at or before a midnight, bytes in hexadecimal without prefix.
-- $1 chain_id bigint
-- $2 day integer
-- $3 block bigint
-- $4 hash text
-- $5 parent_hash text
-- $6 time bigint, Unix seconds
-- $7 is_final boolean
-- stored not null
select midnight_store($1, $2, $3, $4, $5, $6, $7) as stored

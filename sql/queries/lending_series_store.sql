-- Follows a wallet in a market, bytes in hexadecimal without prefix.
-- $1 chain_id bigint
-- $2 contract text
-- $3 wallet text
-- $4 first_day integer | null
-- $5 witnesses integer
select lending_series_store($1, $2, $3, $4, $5)

-- The organization, credits and key of a first start; false if any organization exists.
-- $1 organization_id text
-- $2 name text
-- $3 credits bigint
-- $4 grant_id text
-- $5 api_key_id text
-- $6 hash text, hexadecimal digits
-- $7 last4 text
-- created not null
select organization_create_first($1, $2, $3, $4, $5, decode($6, 'hex'), $7) as created

-- Id of this database's ledger, by which processes name what they store for it outside.
-- id not null
select id::text as id from ledger

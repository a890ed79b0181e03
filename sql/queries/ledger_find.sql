-- Id of this database's ledger, by which processes name what they store for it outside.
-- lane gate
-- not null id
select id::text as id from ledger

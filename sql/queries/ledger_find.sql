-- Reads the id of this database's ledger, by which processes name their files for it.
-- lane gate
-- not null id
select id::text as id from ledger

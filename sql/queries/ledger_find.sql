-- Which ledger this database holds: what a process keeps for it outside names it.
-- id not null
select id::text as id from ledger

-- A place is one contract, the id of a pool, or all contracts of a chain (no bytes): there may be more of them than a
-- smallint counts.
alter table history_place alter column id type integer;
alter table history_coverage alter column place type integer;
alter table lending_event alter column place type integer;
alter table position_flow alter column place type integer;
alter table lending_series alter column place type integer;
alter table lending_snapshot alter column place type integer;

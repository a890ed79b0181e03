-- What only one endpoint said of the past is marked as that, and checked when a second one can be asked.

-- Blocks whose logs two different endpoints agreed on; of the others among `blocks` there is one's word.
alter table history_coverage add column agreed int8multirange not null default '{}';
update history_coverage set agreed = blocks where witnesses >= 2;
create index history_coverage_doubted on history_coverage (place, stream) where blocks <> agreed;

-- What is read again replaces what is there: rows are found by blocks, which lie together as they were stored.
create index lending_event_block on lending_event using brin (block);
create index position_flow_block on position_flow using brin (block);

alter table history_chain alter column anchor_number drop not null;
alter table history_chain alter column anchor_hash drop not null;
-- How many different endpoints had the anchor when history was built on it.
alter table history_chain add column anchor_witnesses smallint not null default 1;
-- The anchor before it, to fall back to if it turns out to be false.
alter table history_chain add column previous_number bigint;
alter table history_chain add column previous_hash bytea;
-- Counts how often the history was taken back: what was read before that is not stored any more.
alter table history_chain add column epoch bigint not null default 0;

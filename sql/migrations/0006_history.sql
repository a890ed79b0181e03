-- Which part of the chains' past is stored: for whom and for which blocks the rows of a stream are complete, and on which
-- blocks that rests. Only what is final is stored; what is not final yet is read with each answer. What one endpoint alone
-- said is marked as that, and read again as soon as another one can be asked: it is then agreed on or replaced.

-- The newest block of a chain that history was built on, its anchor. Whenever history grows it is compared with what the
-- endpoints say; if it is not theirs any more, the chain's history stops.
create table history_chain (
  chain_id bigint primary key,
  -- Null before the first extension, and after the history was forgotten.
  anchor_number bigint,
  anchor_hash bytea,
  -- How many different endpoints had the anchor when history was built on it.
  anchor_witnesses smallint not null default 1,
  -- The anchor before it, to fall back to if it turns out to be false.
  previous_number bigint,
  previous_hash bytea,
  -- Set at the mismatch; nothing is stored for the chain while it is set.
  stopped_at timestamptz,
  -- Counts how often the history was taken back: what was read before that is not stored any more.
  epoch bigint not null default 0
);

-- A place whose history is followed, by a short name for the millions of rows that belong to it: one contract, the id of
-- a pool, or all contracts of a chain (no bytes).
create table history_place (
  id integer generated always as identity primary key,
  chain_id bigint not null,
  contract bytea not null,
  unique (chain_id, contract)
);

-- For which blocks all rows of a subject are stored.
create table history_coverage (
  -- A wallet, a token id, or '' for everybody.
  subject bytea not null,
  place integer not null references history_place (id),
  stream text not null,
  blocks int8multirange not null default '{}',
  -- Those of them whose logs two different endpoints agreed on; of the others there is one's word.
  agreed int8multirange not null default '{}',
  -- The least number of different endpoints that gave the logs of any block; each block was read twice at least.
  witnesses smallint,
  -- The block up to which the rows agreed with the chain's state.
  checked_to bigint,
  -- The blocks that somebody asked for last, so that whoever looks can tell how much of the work is done.
  wanted int8range,
  primary key (subject, place, stream)
);

create index history_coverage_doubted on history_coverage (place, stream) where blocks <> agreed;

-- The last block of a chain at or before each UTC midnight.
create table midnight (
  chain_id bigint not null,
  -- Days since the Unix epoch, of the day that the midnight begins.
  day integer not null,
  block bigint not null,
  hash bytea not null,
  parent_hash bytea not null,
  -- Of the block, Unix seconds.
  time bigint not null,
  -- False as long as another block may take its place. Its row and the snapshots of that midnight then go.
  is_final boolean not null,
  -- How many different endpoints gave it.
  witnesses smallint not null default 1,
  primary key (chain_id, day)
);

-- A row that was made of a log. Every table of such rows inherits this one, so that whoever takes history back, or makes a
-- backup, finds all of them. It has no rows of its own.
create table history_row (
  place integer not null,
  block bigint not null,
  check (false) no inherit
);

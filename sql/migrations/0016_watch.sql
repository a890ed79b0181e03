-- What organizations want to be told, what was said, and to whom it is posted. Every key begins with the organization.

create table webhook (
  organization_id text not null references organization (id),
  id text not null,
  url text not null,
  name text not null,
  -- Its secret is derived from this number, so rotating it is counting on.
  generation integer not null default 1,
  -- Until then messages are signed with the secret of the generation before, too.
  overlap_until timestamptz,
  -- Stopped: the receiver is gone, or nothing reached it for days. Nothing is posted until it is started again.
  status text not null default 'active' check (status in ('active', 'failing', 'stopped')),
  -- When the first of the tries failed that failed since the last success.
  failing_since timestamptz,
  created_at timestamptz not null default now(),
  primary key (organization_id, id)
);

-- What callers know as a trigger: in SQL that word is taken. Whoever inserts one inserts its watch_state, and whoever
-- changes what it watches counts up the edition there, in the same statement.
create table watch (
  organization_id text not null references organization (id),
  id text not null,
  chain_id bigint not null,
  -- A loop evaluates the triggers of a chain, finality and shard: of a line.
  shard smallint not null default 0,
  family text not null,
  subject jsonb not null,
  -- As it was asked for: `{ figure, below }`, `{ figure, above }`, `{ figure, is }` or `{ event: [types] }`.
  clause jsonb not null,
  -- Where it is armed again; null for clauses that need no level.
  clear numeric,
  for_blocks smallint not null default 1 check (for_blocks between 1 and 100),
  finality text not null default 'latest' check (finality in ('latest', 'safe', 'finalized')),
  -- Null: the feed only.
  webhook_id text,
  name text,
  api_key_id text not null,
  -- Why it is not evaluated: by its owner, or for want of credits.
  paused_for text check (paused_for in ('owner', 'credits')),
  expires_at timestamptz,
  created_at timestamptz not null default now(),
  -- Since when it is to be evaluated: when it was made or resumed. It cannot be blind for longer.
  active_at timestamptz not null default now(),
  -- Of the transaction that changed it last, by which loops find what changed; kept by a trigger of SQL.
  changed xid8 not null default pg_current_xact_id(),
  primary key (organization_id, id),
  foreign key (organization_id, webhook_id) references webhook (organization_id, id)
);

create index watch_changed on watch (chain_id, finality, shard, changed);

-- What a trigger was last found to be. Apart from it, so that its many changes rewrite little.
create table watch_state (
  organization_id text not null,
  id text not null,
  -- Rises with each change of what is watched, and the phase is armed again with no block held: what was evaluated for
  -- an older edition changes nothing.
  edition integer not null default 1,
  phase text not null default 'armed' check (phase in ('armed', 'pending', 'fired')),
  -- In how many blocks in a row its clause held.
  held_blocks smallint not null default 0,
  -- How often it fired or was cleared. Never set back: a number names one change for ever.
  changes bigint not null default 0,
  -- The figure as it was at its last change; null before the first.
  value text,
  -- The block that brought it into this phase; null if none did.
  since_block bigint,
  primary key (organization_id, id),
  foreign key (organization_id, id) references watch (organization_id, id) on delete cascade
) with (fillfactor = 70);

-- Changes that were told at blocks of a line that may still be replaced.
create table watch_told (
  organization_id text not null,
  id text not null,
  change bigint not null,
  chain_id bigint not null,
  finality text not null,
  shard smallint not null,
  block bigint not null,
  -- Finds the same change on another branch: fired, cleared, or what happened in which transaction.
  name text not null,
  primary key (organization_id, id, change),
  foreign key (organization_id, id) references watch (organization_id, id) on delete cascade
);

create index watch_told_line on watch_told (chain_id, finality, shard, block);

-- How far the triggers of a line are evaluated, and who evaluates them.
create table watch_cursor (
  chain_id bigint not null,
  finality text not null,
  shard smallint not null,
  -- The process that evaluates.
  holder text not null,
  -- Rises with each holder: whoever lost the lease commits nothing.
  epoch bigint not null default 1,
  lease_until timestamptz not null,
  block bigint,
  -- Empty on Solana, where slots are read that are never taken back.
  block_hash bytea,
  block_at timestamptz,
  primary key (chain_id, finality, shard)
);

-- When the triggers of a family on a line were evaluated last.
create table watch_sight (
  chain_id bigint not null,
  finality text not null,
  shard smallint not null,
  family text not null,
  block bigint not null,
  at timestamptz not null,
  primary key (chain_id, finality, shard, family)
) with (fillfactor = 50);

-- Who was told that triggers are not evaluated, and not yet that they are again. A trigger is blind if its organization,
-- webhook and line have a row here.
create table watch_blind (
  organization_id text not null references organization (id),
  chain_id bigint not null,
  finality text not null,
  shard smallint not null,
  -- Empty: the feed.
  webhook_id text not null,
  since_block bigint,
  since_at timestamptz not null,
  primary key (organization_id, chain_id, finality, shard, webhook_id)
);

create index watch_blind_line on watch_blind (chain_id, finality, shard);

-- Newest blocks that were evaluated, until they are final: one that is replaced is noticed by its hash.
create table watch_block (
  chain_id bigint not null,
  finality text not null,
  shard smallint not null,
  number bigint not null,
  hash bytea not null,
  primary key (chain_id, finality, shard, number)
);

-- The last hour for which an organization's triggers were paid, or could not be: whole hours since the Unix epoch.
create table watch_hour (
  organization_id text primary key references organization (id),
  hour bigint not null
);

-- How many messages an organization has had. Whoever adds some locks the row, so that numbers rise in the order of
-- commits and a reader of the feed misses none.
create table message_count (
  organization_id text primary key references organization (id),
  count bigint not null default 0
) with (fillfactor = 50);

create table message (
  organization_id text not null references organization (id),
  -- The `webhook-id` of each try; a UUID of version 7.
  id uuid not null,
  no bigint not null,
  watch_id text,
  -- Counts what happened to the trigger, for messages about a change.
  change bigint,
  type text not null,
  -- JSON as it is signed and posted.
  body text not null,
  created_at timestamptz not null default now(),
  webhook_id text,
  -- When it is to be tried next; null if it is done, dead, or for the feed only.
  due_at timestamptz,
  tries smallint not null default 0,
  -- Until then one process is trying it.
  lease_until timestamptz,
  done_at timestamptz,
  outcome text check (outcome in ('delivered', 'dead')),
  primary key (organization_id, no),
  unique (organization_id, id)
) with (fillfactor = 70);

-- A change has one message of each type: it cannot be told twice.
create unique index message_change on message (organization_id, watch_id, change, type) where change is not null;
-- What is due is found webhook by webhook, so that one with many of them hides no other.
create index message_due on message (organization_id, webhook_id, due_at, no) where due_at is not null;
create index message_watch on message (organization_id, watch_id, no) where watch_id is not null;

create table message_try (
  organization_id text not null,
  message_no bigint not null,
  no smallint not null,
  at timestamptz not null,
  -- Of the answer; null if there was none, and `failure` says why. Never what the answer said.
  status_code smallint,
  failure text,
  latency_ms integer not null,
  primary key (organization_id, message_no, no),
  foreign key (organization_id, message_no) references message (organization_id, no) on delete cascade
);

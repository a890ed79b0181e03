-- Every request with a recognised key. The primary key lists an organization's requests newest first and makes a
-- second settlement of the same request impossible. A partition holds a week; the service makes and drops them.
create table request_log (
  organization_id text not null,
  requested_at timestamptz not null,
  -- Ours, time-ordered and unique, unlike the request_id, which callers may choose and repeat.
  settlement_id text not null,
  request_id text not null,
  api_key_id text not null,
  method text not null,
  -- The endpoint's template, or what was asked for if that leads nowhere.
  path text not null,
  routed boolean not null,
  status integer not null check (status between 100 and 599),
  latency_ms integer not null check (latency_ms >= 0),
  credits bigint not null check (credits >= 0),
  -- False where the gate refused it: only admitted requests fill the rate window.
  admitted boolean not null,
  primary key (organization_id, requested_at, settlement_id),
  check (credits = 0 or status between 200 and 299)
) partition by range (requested_at);

-- Requests of weeks that have no partition, as long as they have none.
create table request_log_rest partition of request_log default;

-- What the log held before it was dropped for its age: for each organization the credits that its log charges, those
-- dropped and its balance are what it was granted.
create table request_log_dropped (
  organization_id text primary key,
  requests bigint not null,
  credits bigint not null,
  -- Everything before this moment.
  before timestamptz not null
);

-- The log counted by day and hour: totals and deep pages of the usage log come from here. One row per day keeps a month
-- of a busy organization short; by_hour says where in the day its requests fell.
create table request_rollup (
  organization_id text not null,
  -- Whole days since the Unix epoch.
  day integer not null,
  api_key_id text not null,
  -- The endpoint's template, or '' for all paths that lead nowhere: callers invent as many of those as they like.
  path text not null,
  status integer not null,
  requests bigint not null,
  credits bigint not null,
  by_hour integer[] not null check (cardinality(by_hour) = 24),
  primary key (organization_id, day, api_key_id, path, status)
) with (fillfactor = 50);

-- What was logged since it was counted into the rollups last, written with the log itself: one row per batch, all of
-- one hour. Never changed, so that an old snapshot slows nothing down.
create table request_rollup_pending (
  -- Of the transaction that wrote it, by which it is found.
  xid xid8 not null default pg_current_xact_id(),
  -- Whole hours since the Unix epoch.
  hour bigint not null,
  organizations text[] not null,
  keys text[] not null,
  paths text[] not null,
  statuses integer[] not null,
  -- Below zero where requests are counted out again.
  requests integer[] not null,
  credits bigint[] not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

create index request_rollup_pending_xid on request_rollup_pending (xid);

-- No row of request_rollup_pending is of an older transaction. One row at most.
create table request_rollup_floor (
  id boolean primary key default true check (id),
  xid xid8 not null
);

-- Every request with a recognised key. The primary key lists an organization's requests newest first and makes a
-- second settlement of the same request impossible.
create table request_log (
  organization_id text not null,
  requested_at timestamptz not null,
  -- Ours, time-ordered and unique, unlike the request_id, which callers may choose and repeat.
  settlement_id text not null,
  request_id text not null,
  api_key_id text not null,
  method text not null,
  path text not null,
  status integer not null check (status between 100 and 599),
  latency_ms integer not null check (latency_ms >= 0),
  credits bigint not null check (credits >= 0),
  -- False where the gate refused it: only admitted requests fill the rate window.
  admitted boolean not null,
  primary key (organization_id, requested_at, settlement_id),
  check (credits = 0 or status between 200 and 299)
);

-- The log counted by day and hour, in the statement that writes it: totals and deep pages of the usage log come from
-- here. One row per day keeps a month of a busy organization short; by_hour says where in the day its requests fell.
create table request_rollup (
  organization_id text not null,
  -- Whole days since the Unix epoch.
  day integer not null,
  api_key_id text not null,
  path text not null,
  status integer not null,
  requests bigint not null,
  credits bigint not null,
  by_hour integer[] not null check (cardinality(by_hour) = 24),
  primary key (organization_id, day, api_key_id, path, status)
) with (fillfactor = 50);

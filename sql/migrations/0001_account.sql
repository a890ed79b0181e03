-- Who calls, what they may do and what they have left. A table of what organizations have begins its primary key with
-- the organization, so that all of them can be distributed by it; ledger and the switches belong to none.

-- Which ledger this is, in one row. A dump carries it along, so that what processes keep outside for this ledger finds
-- it again, and never reaches another one.
create table ledger (
  id uuid primary key default gen_random_uuid(),
  only_one boolean not null default true unique check (only_one)
);

insert into ledger default values;

create table organization (
  id text primary key,
  name text not null check (char_length(name) between 1 and 100),
  -- Requests admitted in any one second, over all keys.
  rate_limit integer not null default 5 check (rate_limit between 1 and 100000),
  suspended_at timestamptz,
  deleted_at timestamptz,
  created_at timestamptz not null default now()
);

-- Every limit on what may be spent is a row: an organization's balance, a day of one of its keys, a session of an agent.
-- Narrow and half empty: every settlement updates rows, and such updates stay on their page without touching an index.
create table spending_limit (
  organization_id text not null references organization (id),
  -- Whose spending it limits: '' for the organization, else the id of a key or of a session. Whoever changes an
  -- organization's log, rollups or limits locks its row with scope '' here first, in the order of organization_id.
  scope text not null default '',
  -- Whole days since the Unix epoch for a limit of one day (UTC), 0 for one that does not end.
  period integer not null default 0,
  -- What the log charged, dropped parts of it included.
  spent bigint not null default 0 check (spent >= 0),
  -- Of an organization the sum of its grants; null if each request says it.
  most bigint check (spent <= most),
  -- When something was spent last; of an organization, when it was made.
  spent_at timestamptz not null default now(),
  primary key (organization_id, scope, period),
  check (scope <> '' or (period = 0 and most is not null))
) with (fillfactor = 50);

create table credit_grant (
  organization_id text not null references organization (id),
  id text not null,
  -- Below zero where credits were taken back.
  credits bigint not null check (credits <> 0),
  reason text not null check (char_length(reason) between 1 and 200),
  granted_at timestamptz not null default now(),
  primary key (organization_id, id)
);

create table api_key (
  organization_id text not null references organization (id),
  id text not null,
  name text not null check (char_length(name) between 1 and 100),
  -- SHA-256 of the key; the key itself is shown once and kept nowhere.
  hash bytea not null check (octet_length(hash) = 32),
  last4 text not null check (char_length(last4) = 4),
  created_at timestamptz not null default now(),
  revoked_at timestamptz,
  expires_at timestamptz,
  -- Networks from which it works, such as 10.0.0.0/8; null for all.
  allowed_networks text[],
  -- Endpoints for which it works, named as in OpenAPI; null for all.
  allowed_endpoints text[],
  -- Most credits that it may spend in one day (UTC); null for no limit.
  credits_per_day bigint check (credits_per_day > 0),
  primary key (organization_id, id)
);

create index api_key_hash on api_key (hash);

-- Endpoints that the operator switched off, named as in OpenAPI: GET /v1/lending/aave-v3.
create table endpoint_disabled (
  endpoint text primary key,
  disabled_at timestamptz not null default now()
);

-- Features that the operator switched off. Which there are is for the program to say.
create table feature_disabled (
  feature text primary key,
  disabled_at timestamptz not null default now()
);

-- Who calls, what they may do and what they have left. Every primary key holds the organization, so that the tables
-- can be distributed by it.

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

-- Narrow and half empty: every settlement updates it, and such updates stay on their page without touching an index.
-- Whoever changes an organization's log, balance or rollups locks its row here first, in the order of organization_id.
create table credit_balance (
  organization_id text primary key references organization (id),
  balance bigint not null default 0 check (balance >= 0),
  -- Sum of all grants: always the balance plus what the log charged.
  granted bigint not null default 0
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
  primary key (organization_id, id)
);

create index api_key_hash on api_key (hash);

-- Endpoints that the operator switched off, named as in OpenAPI: GET /v1/lending/aave-v3.
create table endpoint_disabled (
  endpoint text primary key,
  disabled_at timestamptz not null default now()
);

-- What the secrets of webhooks are derived from, unless a file has it.
create table instance_secret (
  is_only boolean primary key default true check (is_only),
  secret bytea not null check (octet_length(secret) = 32),
  created_at timestamptz not null default now()
);

-- How many triggers an organization may have.
alter table organization add column trigger_limit integer not null default 1000 check (trigger_limit between 0 and 100000);

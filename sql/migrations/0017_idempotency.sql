-- Requests that came with an Idempotency-Key, each once: whoever repeats one within a day is given its first answer.
create table idempotency_record (
  organization_id text not null,
  -- As the caller chose it.
  idempotency_key text not null,
  -- SHA-256 of what was asked: method, path, query and body.
  request_hash text not null,
  -- The request that answers it.
  settlement_id text not null unique,
  begun_at timestamptz not null default now(),
  -- Null while the answer is being made.
  answered_at timestamptz,
  -- JSON, and the body itself; null if it is too large to be kept.
  headers text,
  body text,
  -- What the row takes up, about.
  bytes integer not null default 0,
  primary key (organization_id, idempotency_key)
);

create index idempotency_record_begun on idempotency_record (begun_at);

-- What the records of an organization take up: added to with each, and counted anew as old ones are forgotten.
create table idempotency_use (
  organization_id text primary key,
  bytes bigint not null
);

-- Keys with which this instance signs receipts, and with which it once did: those can be checked for ever.
create table instance_key (
  -- First 16 digits of the SHA-256 of the public key.
  id text primary key,
  public_key bytea not null check (octet_length(public_key) = 32),
  -- PKCS #8. Null if it is in a file, and once it is retired.
  private_key bytea,
  created_at timestamptz not null default now(),
  retired_at timestamptz check (retired_at is null or private_key is null)
);

-- One signs at a time.
create unique index instance_key_signing on instance_key ((true)) where retired_at is null;

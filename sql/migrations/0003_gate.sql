-- Admissions of the last second, per organization. Unlogged: admitting needs no write to the disk, and after a crash
-- the window is primed from the request log.
create unlogged table rate_window (
  organization_id text primary key,
  -- One entry per batch of admissions, oldest first: when, and how many were admitted so far, that batch included.
  at timestamptz[] not null,
  upto bigint[] not null,
  -- Admitted before the first entry.
  since bigint not null
) with (fillfactor = 50);

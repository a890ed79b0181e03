-- One row per organization, never changed: whoever admits its requests locks it. Unlogged, like the next table:
-- admitting needs no write to the disk, and after a crash a missing row says that the state is primed from the log.
create unlogged table rate_window (
  organization_id text primary key
);

-- Admissions of the last second, per organization. The newest row counts. A new one is begun with every era, which is
-- two seconds long: as long as some other session keeps an old snapshot, no version of a row can be removed, and a
-- row that lived on would be looked for among all the versions that it ever had.
create unlogged table rate_window_state (
  organization_id text not null,
  -- Whole eras since the Unix epoch.
  era integer not null,
  -- One entry per batch of admissions, oldest first: when, and how many were admitted so far, that batch included.
  at timestamptz[] not null,
  upto bigint[] not null,
  -- Admitted before the first entry.
  since bigint not null,
  primary key (organization_id, era)
) with (fillfactor = 50);

-- When organizations, their keys or the disabled endpoints changed last, so that processes may remember them: n of an
-- organization is the number of its last change, that of '*' of the last change that concerns all of them, and that of
-- '' of the last change of all. Numbers grow in the order of commits.
create table account_change (
  organization_id text primary key,
  n bigint not null
);

create index account_change_n on account_change (n);

-- A net worth that cannot be told is null, and a snapshot names what its sums lack: a JSON array of objects with what,
-- amount (whole tokens or null) and why.
alter table portfolio_snapshot
  alter column net_worth drop not null,
  add column gaps text not null default '[]';

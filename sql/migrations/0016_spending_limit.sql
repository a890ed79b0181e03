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

insert into spending_limit (organization_id, spent, most)
select organization_id, granted - balance, granted from credit_balance;
insert into spending_limit (organization_id, scope, period, spent)
select organization_id, api_key_id, day, credits from api_key_day;
insert into spending_limit (organization_id, scope, spent, spent_at)
select organization_id, session_id, credits, spent_at from session_spending;

drop table credit_balance;
drop table api_key_day;
drop table session_spending;

-- runs with: 25
-- What an hour of a trigger costs, credits: figures that are read for long cost more.
alter table watch add column hour_credits smallint not null default 1;
alter table watch_owed add column hour_credits smallint not null default 1;

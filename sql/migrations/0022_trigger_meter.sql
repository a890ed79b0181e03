-- runs with: 20
-- The time that a trigger is active is metered: it is paid for whole hours, the first when it is made.
alter table watch
  -- Up to when its active time is paid. It moves on by as long as the trigger was idle.
  add column paid_until timestamptz not null default now() + interval '1 hour',
  -- Since when it is paused or expired; null while it is active, or has only just expired.
  add column idle_at timestamptz;

-- An hour that was paid when it began is paid to its end. A number of an hour to come was told by a wrong clock.
update watch w
set idle_at = case when u.is_idle then now() end,
  paid_until = case
    when u.is_idle then now()
    when u.hour_at is null or w.created_at > u.hour_at - interval '1 hour' then w.created_at + interval '1 hour'
    else u.hour_at + interval '1 hour'
  end
from (
  select x.organization_id, x.id, x.paused_for is not null or coalesce(x.expires_at <= now(), false) as is_idle,
    least(timestamptz 'epoch' + h.hour * interval '1 hour', date_trunc('hour', now(), 'UTC')) as hour_at
  from watch x
  left join watch_hour h on h.organization_id = x.organization_id
) u
where w.organization_id = u.organization_id and w.id = u.id;

-- Triggers that were deleted in an hour that was not paid yet.
create table watch_owed (
  organization_id text not null references organization (id),
  id text not null,
  api_key_id text not null,
  primary key (organization_id, id)
);

alter table webhook
  -- Until when earlier secrets are valid, beside that of the generation before: of the one before that first.
  add column older_overlaps timestamptz[] not null default '{}',
  -- When a receiver answered any process, whatever it said; to the minute.
  add column answered_at timestamptz,
  -- When a try failed last while something has been due since; null if nothing was.
  add column failed_at timestamptz,
  -- How long tries have failed since the last success while something was due.
  add column failed_for interval not null default '0';

-- How often a message was made due again.
alter table message add column redeliveries smallint not null default 0;

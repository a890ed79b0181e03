-- Triggers that the evaluation of their partition left out, since the first such block: their subject could not be read,
-- or has no such figure now. All others were evaluated when their family was.
create table watch_unseen (
  organization_id text not null,
  id text not null,
  since_block bigint not null,
  since_at timestamptz not null default now(),
  primary key (organization_id, id),
  foreign key (organization_id, id) references watch (organization_id, id) on delete cascade
);

-- Triggers whose owners were told that they are not evaluated, and not yet that they are again: they are blind. In place
-- of watch_blind, which knew webhooks only; a later migration drops that table, which programs of the release before
-- read.
create table watch_blind_trigger (
  organization_id text not null,
  id text not null,
  chain_id bigint not null,
  finality text not null,
  shard smallint not null,
  -- The first block that was left out; null if the chain was never evaluated.
  since_block bigint,
  since_at timestamptz not null,
  primary key (organization_id, id),
  foreign key (organization_id, id) references watch (organization_id, id) on delete cascade
);

create index watch_blind_trigger_line on watch_blind_trigger (chain_id, finality, shard);

insert into watch_blind_trigger (organization_id, id, chain_id, finality, shard, since_block, since_at)
select w.organization_id, w.id, w.chain_id, w.finality, w.shard, b.since_block, b.since_at
from watch_blind b
join watch w on w.organization_id = b.organization_id and w.chain_id = b.chain_id and w.finality = b.finality
  and w.shard = b.shard and coalesce(w.webhook_id, '') = b.webhook_id
where w.paused_for is null;

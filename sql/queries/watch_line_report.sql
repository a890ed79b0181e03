-- Lists partitions with triggers: the evaluating process, the last evaluated block, and since when owners are notified
-- that they are not evaluated. Triggers that were left out, while others were evaluated, do not count.
-- lane read
-- not null chain_id, finality
select l.chain_id, l.finality, case when c.lease_until > now() then c.holder end as holder, c.block,
  (
    select extract(epoch from now() - max(s.at)) from watch_sight s
    where s.chain_id = l.chain_id and s.finality = l.finality and s.shard = l.shard
  )::double precision as age_sec,
  (
    select min(b.since_at) from watch_blind_trigger b
    where b.chain_id = l.chain_id and b.finality = l.finality and b.shard = l.shard
      and not exists (select from watch_unseen u where u.organization_id = b.organization_id and u.id = b.id)
  ) as blind_since
from trigger_lines() l
left join watch_cursor c on c.chain_id = l.chain_id and c.finality = l.finality and c.shard = l.shard
where exists (
  select from watch w
  where w.chain_id = l.chain_id and w.finality = l.finality and w.shard = l.shard and w.paused_for is null
    and (w.expires_at is null or w.expires_at > now()))
order by l.chain_id, l.finality

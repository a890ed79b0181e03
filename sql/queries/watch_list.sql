-- Lists triggers of an organization, newest first.
-- lane read
-- $1 organization_id text
-- $2 id text | null
-- $3 chain_id bigint | null
-- $4 family text | null
-- $5 subject text | null
-- $6 state text | null
-- $7 max bigint
-- $8 skip bigint
-- not null subject, clause, state, changes, total
select l.*, count(*) over () as total
from (
  select w.id, w.chain_id, w.family, w.subject::text as subject, w.clause::text as clause, w.clear::text as clear,
    w.for_blocks, w.finality, w.webhook_id, w.name, w.paused_for, w.expires_at, w.created_at, s.value,
    s.changes::text as changes, s.since_block,
    case
      when w.expires_at <= now() then 'expired'
      when w.paused_for is not null then 'paused'
      when exists (
        select from watch_blind_trigger b
        where b.organization_id = w.organization_id and b.id = w.id and b.finality = w.finality and b.shard = w.shard
      ) then 'blind'
      else s.phase
    end as state
  from watch w
  join watch_state s on s.organization_id = w.organization_id and s.id = w.id
  where w.organization_id = $1 and ($2::text is null or w.id = $2) and ($3::bigint is null or w.chain_id = $3)
    and ($4::text is null or w.family = $4) and ($5::text is null or w.subject @> $5::text::jsonb)
) l
where $6::text is null or l.state = $6
order by l.created_at desc, l.id limit $7 offset $8

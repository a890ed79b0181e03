-- The triggers of an organization with their states, as answers show them.
create or replace function watch_shown(p_organization text) returns table (
  id text, chain_id bigint, family text, subject jsonb, clause jsonb, clear text, for_blocks smallint, finality text,
  webhook_id text, name text, paused_for text, expires_at timestamptz, created_at timestamptz, value text,
  changes text, since_block bigint, state text
) language sql stable as $$
  select w.id, w.chain_id, w.family, w.subject, w.clause, w.clear::text, w.for_blocks, w.finality, w.webhook_id, w.name,
    w.paused_for, w.expires_at, w.created_at, s.value, s.changes::text, s.since_block,
    case
      when w.expires_at <= now() then 'expired'
      when w.paused_for is not null then 'paused'
      when exists (
        select from watch_blind_trigger b
        where b.organization_id = w.organization_id and b.id = w.id and b.finality = w.finality and b.shard = w.shard
      ) then 'blind'
      else s.phase
    end
  from watch w
  join watch_state s on s.organization_id = w.organization_id and s.id = w.id
  where w.organization_id = p_organization
$$;

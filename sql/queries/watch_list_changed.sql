-- Lists triggers of a partition changed by transactions that an earlier list may have missed, one page in the order of
-- their ids, and the transaction from which the next list must start. Rows beyond the newest transaction came with a
-- dump. Triggers of another finality are listed as inactive, because they may have moved there from this partition.
-- lane background
-- $1 chain_id bigint
-- $2 finality text
-- $3 shard smallint
-- $4 seen text, what the earlier look gave
-- $5 after_organization text, the last of the page before
-- $6 after_id text
-- $7 max bigint
-- not null seen
-- null organization_id, id, family, subject, clause, for_blocks, active_at, edition
-- null phase, held_blocks, changes
select pg_snapshot_xmin(pg_current_snapshot())::text as seen, w.*
from (values (1)) one (row)
left join lateral (
  select w.organization_id, w.id, w.family, w.subject, w.clause, w.clear, w.for_blocks, w.name, w.expires_at,
    w.active_at,
    w.finality = $2 and w.paused_for is null and (w.expires_at is null or w.expires_at > now())
      and o.suspended_at is null and o.deleted_at is null as active,
    exists (select from watch_unseen u where u.organization_id = w.organization_id and u.id = w.id) as unseen,
    s.edition, s.phase, s.held_blocks, s.changes, s.value, s.since_block,
    (
      select json_agg(json_build_array(t.change, t.block::text, t.name) order by t.change)
      from watch_told t
      where t.organization_id = w.organization_id and t.id = w.id and t.finality = w.finality
    ) as told
  from (
    select x.* from watch x
    where x.chain_id = $1 and x.finality = any (array['latest', 'safe', 'finalized']) and x.shard = $3
    and x.changed >= $4::text::xid8 and x.changed < pg_snapshot_xmax(pg_current_snapshot())
    and (x.organization_id, x.id) > ($5, $6)
    order by x.organization_id, x.id
    limit $7
  ) w
  -- Looked up row by row, even if the planner expects few rows.
  cross join lateral (
    select x.* from watch_state x where x.organization_id = w.organization_id and x.id = w.id offset 0
  ) s
  cross join lateral (select x.* from organization x where x.id = w.organization_id offset 0) o
  order by w.organization_id, w.id
) w on true

-- Triggers of a line that transactions changed that may not have been seen at an earlier look, one page in the order of
-- their ids; and from which transaction on the next look must look. Rows beyond the newest transaction came with a dump.
-- $1 chain_id bigint
-- $2 finality text
-- $3 shard smallint
-- $4 seen text, what the earlier look gave, or empty for all triggers
-- $5 after_organization text, the last of the page before
-- $6 after_id text
-- $7 max bigint
-- seen not null
-- organization_id null
-- id null
-- family null
-- subject null
-- clause null
-- clear null
-- for_blocks null
-- name null
-- expires_at null
-- active_at null
-- active null
-- edition null
-- phase null
-- held_blocks null
-- changes null
-- value null
-- since_block null
-- told null
select pg_snapshot_xmin(pg_current_snapshot())::text as seen, w.*
from (values (1)) one (row)
left join lateral (
  select w.organization_id, w.id, w.family, w.subject, w.clause, w.clear, w.for_blocks, w.name, w.expires_at,
    w.active_at,
    w.paused_for is null and (w.expires_at is null or w.expires_at > now()) and o.suspended_at is null
      and o.deleted_at is null as active,
    s.edition, s.phase, s.held_blocks, s.changes, s.value, s.since_block,
    (
      select json_agg(json_build_array(t.change, t.block::text, t.name) order by t.change)
      from watch_told t where t.organization_id = w.organization_id and t.id = w.id
    ) as told
  from watch w
  join watch_state s on s.organization_id = w.organization_id and s.id = w.id
  join organization o on o.id = w.organization_id
  where w.chain_id = $1 and w.finality = $2 and w.shard = $3
    and ($4 = '' or (w.changed >= nullif($4, '')::xid8 and w.changed < pg_snapshot_xmax(pg_current_snapshot())))
    and (w.organization_id, w.id) > ($5, $6)
  order by w.organization_id, w.id
  limit $7
) w on true

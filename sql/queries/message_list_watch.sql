-- Lists messages about a trigger, newest first, with their attempts.
-- lane read
-- $1 organization_id text
-- $2 watch_id text
-- $3 max bigint
-- $4 skip bigint
-- not null id, total, tries
select m.id::text as id, m.type, m.change, m.created_at, m.webhook_id, m.due_at, m.outcome,
  count(*) over () as total,
  coalesce((
    select json_agg(json_build_object(
      'at_ms', floor(extract(epoch from t.at) * 1000), 'status_code', t.status_code, 'failure', t.failure,
      'latency_ms', t.latency_ms) order by t.no)
    from message_try t where t.organization_id = m.organization_id and t.message_no = m.no
  ), '[]')::text as tries
from message m
where m.organization_id = $1 and m.watch_id = $2
order by m.no desc limit $3 offset $4

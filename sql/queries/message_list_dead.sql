-- Lists undelivered messages of an organization without further attempts, newest first, with their attempts.
-- lane read
-- $1 organization_id text
-- $2 max bigint
-- $3 skip bigint
-- not null id, total, tries
select m.id::text as id, m.type, m.watch_id, m.change, m.created_at, m.webhook_id, m.due_at, m.outcome,
  (select count(*) from message d where d.organization_id = $1 and d.outcome = 'dead') as total,
  coalesce((
    select json_agg(json_build_object(
      'at_ms', floor(extract(epoch from t.at) * 1000), 'status_code', t.status_code, 'failure', t.failure,
      'latency_ms', t.latency_ms) order by t.no)
    from message_try t where t.organization_id = m.organization_id and t.message_no = m.no
  ), '[]')::text as tries
from message m
where m.organization_id = $1 and m.outcome = 'dead'
order by m.no desc limit $2 offset $3

-- Adds messages, each the next of its organization. Arrays have an element per message: its trigger, '' if it is about
-- none, and the change that it tells, 0 if it tells none; the webhook, '' for the feed only. Returns their ids in order.
-- Whoever calls it from another function locks nothing afterwards: the counts are locked until the commit, in one order.
-- lane read
create or replace function message_add(
  p_organizations text[], p_watches text[], p_changes bigint[], p_types text[], p_bodies text[], p_webhooks text[]
) returns uuid[] language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_mergejoin = off set jit = off as $$
declare
  v_ids uuid[];
begin
  with counted as (
    insert into message_count as c (organization_id, count)
    select o.id, count(*) from unnest(p_organizations) o (id) group by o.id order by o.id collate "C"
    on conflict (organization_id) do update set count = c.count + excluded.count
    returning c.organization_id, c.count
  ),
  numbered as (
    select u.*, row_number() over (partition by u.organization_id order by u.no desc) as before_last,
      -- A UUID of version 7: 48 bits of time, its version, and the random bits of one of version 4.
      (
        lpad(to_hex((extract(epoch from clock_timestamp()) * 1000)::bigint), 12, '0') || '7'
        || substr(replace(gen_random_uuid()::text, '-', ''), 14)
      )::uuid as id
    from unnest(p_organizations, p_watches, p_changes, p_types, p_bodies, p_webhooks) with ordinality
      u (organization_id, watch_id, change, type, body, webhook_id, no)
  ),
  added as (
    insert into message (organization_id, id, no, watch_id, change, type, body, webhook_id, due_at)
    select n.organization_id, n.id, c.count - n.before_last + 1, nullif(n.watch_id, ''), nullif(n.change, 0), n.type,
      n.body, nullif(n.webhook_id, ''), case when n.webhook_id <> '' then now() end
    from numbered n
    join counted c on c.organization_id = n.organization_id
  )
  select array_agg(n.id order by n.no) into v_ids from numbered n;
  return coalesce(v_ids, '{}');
end
$$;

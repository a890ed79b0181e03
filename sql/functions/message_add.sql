-- Adds messages, each the next of its organization. Arrays have an element per message: its trigger, '' if it is about
-- none, and its change, 0 for none; the webhook, '' for the feed only, null if the message is not to be added. Returns
-- the ids of the added messages, in order.
-- Bodies begin with type and timestamp. The database dates messages: a process leaves the timestamp of its bodies empty.
-- A calling function must lock nothing afterwards: the counts are locked until the commit, in one order.
create or replace function message_add(
  p_organizations text[], p_watches text[], p_changes bigint[], p_types text[], p_bodies text[], p_webhooks text[]
) returns uuid[] language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_mergejoin = off set jit = off
-- A plan made for these very arrays has them as constants, of which each element is found by reading all before it.
set plan_cache_mode = force_generic_plan as $$
declare
  v_ids uuid[];
begin
  with wanted as (
    select u.organization_id, u.no from unnest(p_organizations, p_webhooks) with ordinality u (organization_id, webhook_id, no)
    where u.webhook_id is not null
  ),
  counted as (
    insert into message_count as c (organization_id, count)
    select w.organization_id, count(*) from wanted w group by w.organization_id order by w.organization_id collate "C"
    on conflict (organization_id) do update set count = c.count + excluded.count
    returning c.organization_id, c.count
  ),
  -- Without bodies, so that the sort stays small.
  numbered as (
    select w.*, row_number() over (partition by w.organization_id order by w.no desc) as before_last,
      -- A UUID of version 7: 48 bits of time, its version, and the random bits of one of version 4.
      (
        lpad(to_hex((extract(epoch from clock_timestamp()) * 1000)::bigint), 12, '0') || '7'
        || substr(replace(gen_random_uuid()::text, '-', ''), 14)
      )::uuid as id,
      '{"type":"' || p_types[w.no] || '","timestamp":"' as undated,
      to_char(now() at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as timestamp
    from wanted w
  ),
  added as (
    insert into message (organization_id, id, no, watch_id, change, type, body, webhook_id, due_at)
    select n.organization_id, n.id, c.count - n.before_last + 1, nullif(p_watches[n.no], ''), nullif(p_changes[n.no], 0),
      p_types[n.no],
      case when starts_with(p_bodies[n.no], n.undated || '"')
        then n.undated || n.timestamp || substr(p_bodies[n.no], length(n.undated) + 1) else p_bodies[n.no]
      end,
      nullif(p_webhooks[n.no], ''), case when p_webhooks[n.no] <> '' then now() end
    from numbered n
    join counted c on c.organization_id = n.organization_id
  )
  select array_agg(n.id order by n.no) into v_ids from numbered n;
  return coalesce(v_ids, '{}');
end
$$;

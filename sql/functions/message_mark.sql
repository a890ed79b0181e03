-- Records delivery attempts. p_tries: the number of the attempt since the message was last made due; p_statuses: 0 if
-- there was no response, p_failures then has the reason; p_pauses_ms: until the next attempt, -1 if none follows. An
-- attempt that another process has recorded meanwhile changes nothing, unless it succeeded. A webhook fails from its
-- first failed attempt until one succeeds. It stops if its receiver answers 410, or once attempts have failed for
-- p_stop_sec: the time between two of them counts if something was due throughout, and 30 hours at most, which is longer
-- than a message ever waits for its next.
-- lane background
create or replace function message_mark(
  p_organizations text[], p_nos bigint[], p_tries integer[], p_statuses integer[], p_failures text[],
  p_latencies_ms integer[], p_pauses_ms bigint[], p_stop_sec integer
) returns void language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_mergejoin = off set jit = off as $$
declare
  v_organizations text[];
  v_webhooks text[];
  v_arrived boolean[];
  v_gone boolean[];
  v_answered boolean[];
begin
  with marked as (
    update message m
    set tries = u.try, lease_until = null,
      due_at = case when u.arrived or u.pause_ms < 0 then null else now() + u.pause_ms * interval '1 ms' end,
      done_at = case when u.arrived or u.pause_ms < 0 then now() end,
      outcome = case when u.arrived then 'delivered' when u.pause_ms < 0 then 'dead' end
    from (
      select g.*, g.status between 200 and 299 as arrived
      from unnest(p_organizations, p_nos, p_tries, p_statuses, p_failures, p_latencies_ms, p_pauses_ms)
        g (organization_id, no, try, status, failure, latency_ms, pause_ms)
      -- In one order, because another process may record the same attempts after a lease has ended.
      order by g.organization_id collate "C", g.no
      offset 0
    ) u
    where m.organization_id = any (array[u.organization_id]) and m.no = any (array[u.no])
      and m.outcome is distinct from 'delivered' and (m.tries = u.try - 1 and m.due_at is not null or u.arrived)
    returning m.organization_id, m.no, m.webhook_id, u.status, u.failure, u.latency_ms, u.arrived
  ),
  noted as (
    insert into message_try (organization_id, message_no, no, at, status_code, failure, latency_ms)
    select k.organization_id, k.no, least(coalesce(t.no, 0) + 1, 32767), now() - k.latency_ms * interval '1 ms', nullif(k.status, 0),
      nullif(k.failure, ''), k.latency_ms
    from marked k
    left join lateral (
      select x.no from message_try x where x.organization_id = k.organization_id and x.message_no = k.no
      order by x.no desc limit 1
    ) t on true
    -- Further ones of a message with so many, as earlier releases allowed, are not noted.
    on conflict do nothing
  )
  -- In one order, because concurrent calls change the same webhooks.
  select array_agg(g.organization_id), array_agg(g.webhook_id), array_agg(g.arrived), array_agg(g.is_gone),
    array_agg(g.answered)
  into v_organizations, v_webhooks, v_arrived, v_gone, v_answered
  from (
    select k.organization_id, k.webhook_id, bool_or(k.arrived) as arrived, bool_or(k.status = 410) as is_gone,
      bool_or(k.status > 0) as answered
    from marked k
    group by k.organization_id, k.webhook_id
    order by k.organization_id collate "C", k.webhook_id collate "C"
  ) g;

  -- Most of the time nothing changes, and no row is written.
  update webhook w
  set status = case
      when u.is_gone or (
        not u.arrived and w.failing_since is not null
        and w.failed_for + least(now() - w.failed_at, interval '30 hours') > make_interval(secs => p_stop_sec)
      ) then 'stopped'
      when u.arrived then 'active'
      else 'failing'
    end,
    failing_since = case when u.arrived and not u.is_gone then null else coalesce(w.failing_since, now()) end,
    failed_for = case
      when u.arrived or w.failing_since is null then '0'
      else w.failed_for + coalesce(least(now() - w.failed_at, interval '30 hours'), '0')
    end,
    failed_at = case when not u.arrived and exists (
      select from message m
      where m.organization_id = u.organization_id and m.webhook_id = u.webhook_id and m.due_at is not null
    ) then now() end,
    answered_at = case when u.answered then now() else w.answered_at end
  from unnest(v_organizations, v_webhooks, v_arrived, v_gone, v_answered)
    u (organization_id, webhook_id, arrived, is_gone, answered)
  where w.organization_id = any (array[u.organization_id]) and w.id = any (array[u.webhook_id]) and w.status <> 'stopped'
    and (
      u.is_gone or not u.arrived or w.status <> 'active'
      or coalesce(w.answered_at < now() - interval '1 minute', true)
    );
end
$$;

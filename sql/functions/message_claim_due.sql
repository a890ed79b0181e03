-- Claims up to p_most due messages for p_lease_sec. A webhook has at most p_each under way over all processes, and one
-- while it fails; of many webhooks each gets its first message before any gets its second. Messages of a stopped or
-- deleted webhook are dead. Each comes with the generations of its webhook's secret that are valid, the present one
-- first, and in milliseconds with the time of the claim and when any process was answered by the receiver, 0 for never.
-- Earlier releases call message_claim, which is not made any more and is to be dropped after them.
-- lane background
create or replace function message_claim_due(p_most integer, p_each integer, p_lease_sec integer) returns table (
  organization_id text, no bigint, id text, body text, tries integer, webhook_id text, url text, generations integer[],
  claimed_ms bigint, answered_ms bigint
) language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_mergejoin = off set jit = off as $$
#variable_conflict use_column
declare
  v_organizations text[];
  v_webhooks text[];
  v_open_organizations text[];
  v_open_webhooks text[];
  v_shares integer[];
begin
  -- A claim that a crash of the server loses can be taken again, as if its lease had ended.
  perform set_config('synchronous_commit', 'off', true);
  -- The first due message of each webhook, by one index look-up each.
  with recursive pending as (
    (
      select m.organization_id, m.webhook_id, m.due_at from message m where m.due_at is not null
      order by m.organization_id, m.webhook_id, m.due_at limit 1
    )
    union all
    select n.organization_id, n.webhook_id, n.due_at
    from pending p
    cross join lateral (
      select m.organization_id, m.webhook_id, m.due_at from message m
      where m.due_at is not null and (m.organization_id, m.webhook_id) > (p.organization_id, p.webhook_id)
      order by m.organization_id, m.webhook_id, m.due_at limit 1
    ) n
  )
  select array_agg(p.organization_id), array_agg(p.webhook_id) into v_organizations, v_webhooks
  from pending p where p.due_at <= now();
  if v_organizations is null then
    return;
  end if;

  update message m set due_at = null, lease_until = null, done_at = now(), outcome = 'dead'
  from (
    select d.organization_id, d.no
    from unnest(v_organizations, v_webhooks) u (organization_id, webhook_id)
    cross join lateral (
      select x.organization_id, x.no from message x
      where x.organization_id = u.organization_id and x.webhook_id = u.webhook_id and x.due_at is not null
      order by x.due_at, x.no limit 1000
      for no key update skip locked
    ) d
    where not exists (
      select from webhook w
      where w.organization_id = u.organization_id and w.id = u.webhook_id and w.status <> 'stopped')
  ) d
  where m.organization_id = d.organization_id and m.no = d.no;

  -- Only the holder of a webhook row's lock claims its messages, and sees earlier claims in a new statement.
  select array_agg(l.organization_id), array_agg(l.id), array_agg(case l.status when 'failing' then 1 else p_each end)
  into v_open_organizations, v_open_webhooks, v_shares
  from (
    select w.organization_id, w.id, w.status
    from unnest(v_organizations, v_webhooks) u (organization_id, webhook_id)
    join webhook w on w.organization_id = u.organization_id and w.id = u.webhook_id
    where w.status <> 'stopped'
    for no key update of w skip locked
  ) l;

  return query
  with free as (
    select f.organization_id, f.no, f.turn
    from unnest(v_open_organizations, v_open_webhooks, v_shares) u (organization_id, webhook_id, share)
    cross join lateral (
      -- Messages under way were due before others, so they are among the first.
      select x.organization_id, x.no, x.is_under_way, x.due_at,
        count(*) filter (where x.is_under_way) over ()
          + row_number() over (partition by x.is_under_way order by x.due_at, x.no) as turn
      from (
        select m.organization_id, m.no, m.due_at, coalesce(m.lease_until > now(), false) as is_under_way
        from message m
        where m.organization_id = u.organization_id and m.webhook_id = u.webhook_id and m.due_at <= now()
        order by m.due_at, m.no limit 2 * p_each
      ) x
    ) f
    where not f.is_under_way and f.turn <= u.share
    order by f.turn, f.due_at
    limit p_most
  ),
  taken as (
    update message m set lease_until = now() + make_interval(secs => p_lease_sec)
    from (
      select f.organization_id, f.no
      from free f
      cross join lateral (
        -- Never waits: another claim may hold messages of a webhook restarted meanwhile, and wait for these.
        select from message x
        where x.organization_id = f.organization_id and x.no = f.no and x.due_at is not null
          and (x.lease_until is null or x.lease_until <= now())
        for no key update skip locked
      ) x
      offset 0
    ) f
    where m.organization_id = f.organization_id and m.no = f.no
    returning m.organization_id, m.no, m.id, m.body, m.tries, m.webhook_id
  )
  select t.organization_id, t.no, t.id::text, t.body, t.tries::integer, t.webhook_id, w.url,
    w.generation || array(
      select w.generation - o.no::integer
      from unnest(array_prepend(w.overlap_until, w.older_overlaps)) with ordinality o (until, no)
      where o.until > now() order by o.no),
    (extract(epoch from now()) * 1000)::bigint, coalesce(extract(epoch from w.answered_at) * 1000, 0)::bigint
  from taken t
  join webhook w on w.organization_id = t.organization_id and w.id = t.webhook_id;
end
$$;

-- Pauses the triggers of organizations out of credits, and notifies each of their webhooks once, or the feed if they
-- have none. Paused triggers stay as they are.
create or replace function trigger_pause(p_organizations text[]) returns void language plpgsql as $$
declare
  v_organizations text[];
  v_webhooks text[];
  v_bodies text[];
begin
  with paused as (
    update watch w set paused_for = 'credits'
    where w.organization_id = any (p_organizations) and w.paused_for is null
      and (w.expires_at is null or w.expires_at > now())
    returning w.organization_id, w.webhook_id
  ),
  counted as (
    select p.organization_id, count(*) as triggers, array_agg(distinct coalesce(p.webhook_id, '')) as webhooks
    from paused p group by p.organization_id
  ),
  told as (
    select c.organization_id, c.triggers, w.id as webhook_id
    from counted c cross join lateral unnest(c.webhooks) w (id)
    where w.id <> '' or cardinality(c.webhooks) = 1
  )
  select array_agg(t.organization_id), array_agg(t.webhook_id), array_agg(json_build_object(
    'type', 'trigger.paused',
    'timestamp', to_char(now() at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
    'text', format('%s paused for want of credits, until the first hour that can be paid.',
      case t.triggers when 1 then '1 trigger is' else t.triggers || ' triggers are' end),
    'data', json_build_object('reason', 'credits', 'triggers', t.triggers))::text)
  into v_organizations, v_webhooks, v_bodies
  from told t;
  if v_organizations is not null then
    perform message_add(
      v_organizations, array_fill(''::text, array[cardinality(v_organizations)]),
      array_fill(0::bigint, array[cardinality(v_organizations)]),
      array_fill('trigger.paused'::text, array[cardinality(v_organizations)]), v_bodies, v_webhooks);
  end if;
end
$$;

-- Makes one change of an organization's triggers or webhooks, as a route has prepared it: p_kind names it, p_details is
-- its JSON. Returns the result that the route presents, as JSON. Raises WS422 and changes nothing if it cannot be made;
-- the message is the reason: `missing`, `limit`, `webhook` (there is none with this id), `in_use` with a number.
-- lane read
create or replace function change_apply(p_kind text, p_organization text, p_details text) returns text
language plpgsql as $$
declare
  v_details jsonb := p_details::jsonb;
  v_id text := v_details ->> 'id';
  v_reason text;
  v_result jsonb;
begin
  case p_kind
    when 'trigger_create' then
      v_reason := watch_create(
        p_organization, v_id, (v_details ->> 'chain_id')::bigint, v_details ->> 'family', v_details ->> 'subject',
        v_details ->> 'clause', coalesce(v_details ->> 'clear', ''), (v_details ->> 'for_blocks')::integer,
        v_details ->> 'finality', coalesce(v_details ->> 'webhook_id', ''), coalesce(v_details ->> 'name', ''),
        v_details ->> 'api_key_id', coalesce((v_details ->> 'expires_ms')::bigint, 0));
      v_reason := nullif(v_reason, 'made');
      if v_reason is null then
        update watch w
        set shard = (v_details ->> 'shard')::smallint, hour_credits = (v_details ->> 'hour_credits')::smallint
        where w.organization_id = p_organization and w.id = v_id and v_details ? 'shard';
      end if;
    when 'trigger_update' then
      v_reason := watch_update(p_organization, v_id, v_details);
    when 'trigger_delete' then
      -- Its past messages stay in the feed. The state first, as the commit of a block locks it, which then refers to the
      -- trigger.
      perform from watch_state s where s.organization_id = p_organization and s.id = v_id for update;
      delete from watch w where w.organization_id = p_organization and w.id = v_id;
      v_reason := case when not found then 'missing' end;
      v_result := jsonb_build_object('id', v_id);
    when 'message_test' then
      v_id := message_test(
        p_organization, coalesce(v_details ->> 'trigger_id', ''), coalesce(v_details ->> 'webhook_id', ''),
        v_details ->> 'body', (v_details ->> 'most')::integer);
      v_reason := case when v_id = '' then 'limit' end;
      v_result := jsonb_build_object('id', v_id);
    when 'webhook_create' then
      if not webhook_create(
        p_organization, v_id, v_details ->> 'url', v_details ->> 'name', (v_details ->> 'most')::integer)
      then
        v_reason := 'limit';
      end if;
    when 'webhook_update' then
      -- One that starts again begins without failures.
      update webhook w
      set url = coalesce(v_details ->> 'url', w.url), name = coalesce(v_details ->> 'name', w.name),
        status = case when (v_details ->> 'starts')::boolean then 'active' else w.status end,
        failing_since = case when (v_details ->> 'starts')::boolean then null else w.failing_since end
      where w.organization_id = p_organization and w.id = v_id;
      v_reason := case when not found then 'missing' end;
    when 'webhook_rotate' then
      -- The secret before stays valid for some seconds.
      update webhook w
      set generation = w.generation + 1,
        overlap_until = now() + make_interval(secs => (v_details ->> 'overlap_sec')::double precision)
      where w.organization_id = p_organization and w.id = v_id;
      v_reason := case when not found then 'missing' end;
    when 'webhook_delete' then
      -- Locked before its triggers are counted: one that is being made for it refers to it.
      perform from webhook w where w.organization_id = p_organization and w.id = v_id for update;
      if found then
        select 'in_use ' || nullif(count(*), 0) into v_reason
        from watch x where x.organization_id = p_organization and x.webhook_id = v_id;
        if v_reason is null then
          delete from webhook w where w.organization_id = p_organization and w.id = v_id;
        end if;
      else
        v_reason := 'missing';
      end if;
      v_result := jsonb_build_object('id', v_id);
    when 'webhook_redeliver' then
      perform from webhook w where w.organization_id = p_organization and w.id = v_id for key share;
      v_reason := case when not found then 'missing' end;
      select to_jsonb(r) into v_result
      from message_redeliver(
        p_organization, v_id, array(select jsonb_array_elements_text(v_details -> 'ids')),
        (v_details ->> 'from')::timestamptz, (v_details ->> 'to')::timestamptz, v_details ->> 'after',
        (v_details ->> 'most')::integer) r
      where v_reason is null;
  end case;
  if v_reason is not null then
    raise exception '%', v_reason using errcode = 'WS422';
  end if;
  return coalesce(
    v_result,
    (select to_jsonb(w) from watch_shown(p_organization) w where w.id = v_id),
    (select to_jsonb(w) from webhook w where w.organization_id = p_organization and w.id = v_id))::text;
end
$$;

-- Changes the settings of a trigger that p_settings has, and re-arms it if one of them decides when it fires or if it had
-- expired: its previous state is discarded. A trigger that resumes, or moves to another partition, is evaluated from now
-- on: it is not blind at once, even if the partition was not evaluated for long, and earlier events do not concern it.
-- `pauses`: false lets it go on, unless its organization cannot pay. Returns null, or why nothing changed: 'missing', or
-- 'webhook' without such a webhook. Locks its state first, as the commit of a block does, which may then pause the
-- trigger.
create or replace function watch_update(p_organization text, p_id text, p_settings jsonb) returns text
language plpgsql as $$
declare
  v_pauses boolean := (p_settings ->> 'pauses')::boolean;
  v_begins boolean;
begin
  perform from watch_state s where s.organization_id = p_organization and s.id = p_id for no key update;
  if not found then
    return 'missing';
  end if;
  if p_settings ->> 'webhook_id' is not null and not exists (
    select from webhook w where w.organization_id = p_organization and w.id = p_settings ->> 'webhook_id' for key share
  ) then
    return 'webhook';
  end if;
  update watch w
  set clause = coalesce(p_settings -> 'clause', w.clause),
    clear = case when p_settings ? 'clear' then (p_settings ->> 'clear')::numeric else w.clear end,
    for_blocks = coalesce((p_settings ->> 'for_blocks')::smallint, w.for_blocks),
    finality = coalesce(p_settings ->> 'finality', w.finality),
    webhook_id = case when p_settings ? 'webhook_id' then p_settings ->> 'webhook_id' else w.webhook_id end,
    name = case when p_settings ? 'name' then p_settings ->> 'name' else w.name end,
    expires_at = case
      when p_settings ? 'expires_ms' then to_timestamp((p_settings ->> 'expires_ms')::bigint / 1000.0)
      else w.expires_at
    end,
    paused_for = case
      when v_pauses then 'owner'
      when not v_pauses and w.paused_for = 'owner' then (
        select 'credits' from spending_limit l
        where l.organization_id = w.organization_id and l.scope = '' and l.period = 0 and l.most <= l.spent
      )
      else w.paused_for
    end,
    active_at = case
      when p_settings ->> 'finality' <> w.finality or (not v_pauses and w.paused_for = 'owner')
        or (p_settings ? 'expires_ms' and w.expires_at <= now())
        then now()
      else w.active_at
    end
  where w.organization_id = p_organization and w.id = p_id
  returning w.active_at = now() into v_begins;
  if v_begins or p_settings ?| array['clause', 'clear', 'for_blocks', 'finality', 'pauses'] then
    update watch_state s
    set edition = s.edition + 1, phase = 'armed', held_blocks = 0, since_block = null
    where s.organization_id = p_organization and s.id = p_id;
  end if;
  return null;
end
$$;

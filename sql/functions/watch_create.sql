-- Creates a trigger. Returns 'made', or the obstacle: 'limit', the organization has reached its limit; 'webhook', it
-- has no such webhook. p_clear, p_webhook, p_name: '' for none; p_expires_ms: 0 for never.
create or replace function watch_create(
  p_organization text, p_id text, p_chain_id bigint, p_family text, p_subject text, p_clause text, p_clear text,
  p_for_blocks integer, p_finality text, p_webhook text, p_name text, p_api_key text, p_expires_ms bigint
) returns text language plpgsql as $$
declare
  v_most integer;
begin
  -- One at a time, so that the second call counts the trigger of the first.
  select o.trigger_limit into v_most from organization o where o.id = p_organization for no key update;
  if (select count(*) from watch w where w.organization_id = p_organization) >= v_most then
    return 'limit';
  end if;
  if p_webhook <> '' and not exists (
    select from webhook w where w.organization_id = p_organization and w.id = p_webhook for key share
  ) then
    return 'webhook';
  end if;
  insert into watch (
    organization_id, id, chain_id, family, subject, clause, clear, for_blocks, finality, webhook_id, name, api_key_id,
    expires_at
  )
  values (
    p_organization, p_id, p_chain_id, p_family, p_subject::jsonb, p_clause::jsonb, nullif(p_clear, '')::numeric,
    p_for_blocks, p_finality, nullif(p_webhook, ''), nullif(p_name, ''), p_api_key,
    case when p_expires_ms > 0 then to_timestamp(p_expires_ms / 1000.0) end
  );
  insert into watch_state (organization_id, id) values (p_organization, p_id);
  return 'made';
end
$$;

-- Creates a webhook, unless the organization has p_most.
create or replace function webhook_create(p_organization text, p_id text, p_url text, p_name text, p_most integer)
returns boolean language plpgsql as $$
begin
  -- One at a time, so that the second call counts the webhook of the first.
  perform from organization o where o.id = p_organization for no key update;
  insert into webhook (organization_id, id, url, name)
  select p_organization, p_id, p_url, p_name
  where (select count(*) from webhook w where w.organization_id = p_organization) < p_most;
  return found;
end
$$;

-- Creates an organization with credits and one key in an empty database. False if any organization exists; of two
-- processes that start together, one gets true. The hash is in hexadecimal.
-- lane background
create or replace function organization_create_first(
  p_organization_id text, p_name text, p_credits bigint, p_grant_id text, p_api_key_id text, p_hash text, p_last4 text
) returns boolean language plpgsql as $$
begin
  perform pg_advisory_xact_lock(hashtext('organization_create_first'));
  if exists (select from organization) then
    return false;
  end if;
  insert into organization (id, name) values (p_organization_id, p_name);
  insert into spending_limit (organization_id, most) values (p_organization_id, p_credits);
  insert into credit_grant (organization_id, id, credits, reason)
  values (p_organization_id, p_grant_id, p_credits, 'First start');
  insert into api_key (organization_id, id, name, hash, last4)
  values (p_organization_id, p_api_key_id, 'default', decode(p_hash, 'hex'), p_last4);
  insert into audit_entry (actor, action, organization_id, subject, detail) values
    ('first start', 'organization.create', p_organization_id, p_organization_id, jsonb_build_object('name', p_name)),
    ('first start', 'credits.grant', p_organization_id, p_grant_id, jsonb_build_object('credits', p_credits)),
    ('first start', 'key.create', p_organization_id, p_api_key_id, '{}');
  return true;
end
$$;

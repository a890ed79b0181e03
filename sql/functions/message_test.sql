-- Adds a test message, due at once; returns its id, '' if the organization has had p_most within the hour. p_watch: ''
-- for no trigger; p_webhook: '' for the feed only.
create or replace function message_test(
  p_organization text, p_watch text, p_webhook text, p_body text, p_most integer
) returns text language plpgsql as $$
begin
  -- One at a time, so that the second call counts the message of the first.
  perform from organization o where o.id = p_organization for no key update;
  if (
    select count(*) from message m
    where m.organization_id = p_organization and m.type = 'webhook.test' and m.created_at > now() - interval '1 hour'
      -- Bounds the scan: older messages are not read.
      and m.id >= message_id_floor(now() - interval '1 hour')
  ) >= p_most then
    return '';
  end if;
  return (message_add(array[p_organization], array[p_watch], array[0]::bigint[], array['webhook.test'], array[p_body],
    array[p_webhook]))[1]::text;
end
$$;

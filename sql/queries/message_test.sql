-- Adds a test message, unless the organization has had so many within the hour; then there is no row.
-- $1 organization_id text
-- $2 watch_id text, '' if it is about none
-- $3 webhook_id text, '' for the feed only
-- $4 body text
-- $5 most bigint
-- id not null
select (message_add(array[$1], array[$2], array[0]::bigint[], array['webhook.test'], array[$4], array[$3]))[1]::text as id
where (
  select count(*) from message m
  where m.organization_id = $1 and m.type = 'webhook.test' and m.created_at > now() - interval '1 hour'
) < $5

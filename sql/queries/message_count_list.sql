-- Counts all messages that organizations ever had.
-- lane read
-- $1 organization_ids text[]
-- not null count
select c.organization_id, c.count::text as count from message_count c where c.organization_id = any ($1)

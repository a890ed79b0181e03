-- Deletes a trigger. What was said about it stays in the feed.
-- $1 organization_id text
-- $2 id text
delete from watch w where w.organization_id = $1 and w.id = $2 returning w.id

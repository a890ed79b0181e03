-- Deletes a trigger. What was said about it stays in the feed. Its state is locked first, as by whoever commits a block: a
-- commit that has it refers to the trigger later.
-- lane read
-- $1 organization_id text
-- $2 id text
with locked as (
  select s.organization_id, s.id from watch_state s where s.organization_id = $1 and s.id = $2 for update
)
delete from watch w using locked l where w.organization_id = l.organization_id and w.id = l.id returning w.id

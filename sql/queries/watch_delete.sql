-- Deletes a trigger. Its past messages stay in the feed. Locks its state first, as the commit of a block does, because
-- a commit refers to the trigger after locking its state.
-- lane read
-- $1 organization_id text
-- $2 id text
with locked as (
  select s.organization_id, s.id from watch_state s where s.organization_id = $1 and s.id = $2 for update
)
delete from watch w using locked l where w.organization_id = l.organization_id and w.id = l.id returning w.id

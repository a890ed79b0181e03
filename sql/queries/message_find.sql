-- Reads the number of a message of an organization, the id of the oldest stored one, and the count of all ever added.
-- lane read
-- $1 organization_id text
-- $2 id uuid | null
-- not null count
select
  (select m.no::text from message m where m.organization_id = $1 and m.id = $2) as no,
  (select m.id::text from message m where m.organization_id = $1 order by m.no limit 1) as oldest,
  coalesce((select c.count from message_count c where c.organization_id = $1), 0)::text as count

-- Lists webhooks of an organization, or one of them, oldest first.
-- lane read
-- $1 organization_id text
-- $2 id text | null
select w.id, w.url, w.name, w.status, w.generation, w.overlap_until, w.failing_since, w.created_at
from webhook w
where w.organization_id = $1 and ($2::text is null or w.id = $2)
order by w.created_at, w.id

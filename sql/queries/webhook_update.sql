-- Changes a webhook. A restarted webhook begins without failures.
-- lane read
-- $1 organization_id text
-- $2 id text
-- $3 url text | null
-- $4 name text | null
-- $5 starts boolean
update webhook w
set url = coalesce($3, w.url), name = coalesce($4, w.name), status = case when $5 then 'active' else w.status end,
  failing_since = case when $5 then null else w.failing_since end
where w.organization_id = $1 and w.id = $2
returning w.id

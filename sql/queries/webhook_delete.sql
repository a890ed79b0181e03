-- Deletes a webhook that no trigger uses; `triggers` of a row that is not deleted is their number.
-- lane read
-- $1 organization_id text
-- $2 id text
-- not null triggers
with found as (
  select w.id, (
      select count(*)::integer from watch x where x.organization_id = w.organization_id and x.webhook_id = w.id
    ) as triggers
  from webhook w
  where w.organization_id = $1 and w.id = $2
),
deleted as (
  delete from webhook w using found f where w.organization_id = $1 and w.id = f.id and f.triggers = 0
)
select f.triggers from found f

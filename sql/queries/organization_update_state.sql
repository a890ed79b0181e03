-- Suspends, restores or deletes an organization that is not deleted; keys and credits stay as they are.
-- $1 id text
-- $2 change text
update organization
set suspended_at = case $2
    when 'suspend' then coalesce(suspended_at, now())
    when 'restore' then null
    else suspended_at
  end,
  deleted_at = case when $2 = 'delete' then now() end
where id = $1 and deleted_at is null
returning id, name, rate_limit, suspended_at, deleted_at, created_at

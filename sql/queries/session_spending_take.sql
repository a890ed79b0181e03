-- Takes credits from a budget, or nothing at all and no row: calls of one session that run at the same time, on any
-- process, wait for each other at the row, so that they never take more than the budget together.
-- $1 organization_id text
-- $2 session_id text
-- $3 credits bigint
-- $4 budget bigint
-- credits not null
insert into session_spending as s (organization_id, session_id, credits)
select $1, $2, $3::bigint
where $3::bigint <= $4::bigint
on conflict (organization_id, session_id) do update
set credits = s.credits + excluded.credits, spent_at = now()
where s.credits + excluded.credits <= $4::bigint
returning credits

-- Lists triggers of an organization, newest first.
-- lane read
-- $1 organization_id text
-- $2 id text | null
-- $3 chain_id bigint | null
-- $4 family text | null
-- $5 subject text | null
-- $6 state text | null
-- $7 max bigint
-- $8 skip bigint
-- not null row, total
select to_jsonb(w)::text as row, count(*) over () as total
from watch_shown($1) w
where ($2::text is null or w.id = $2) and ($3::bigint is null or w.chain_id = $3)
  and ($4::text is null or w.family = $4) and ($5::text is null or w.subject @> $5::text::jsonb)
  and ($6::text is null or w.state = $6)
order by w.created_at desc, w.id limit $7 offset $8

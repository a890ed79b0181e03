-- Lists organizations that changed after the change p_seen; p_now is the number of the last change, '*' stands for all.
-- If p_now is below p_seen, p_seen came from another database.
create or replace function account_changes_since(p_seen bigint, p_now bigint) returns text[] language sql stable
set enable_seqscan = off set enable_bitmapscan = off as $$
  select case when p_now < p_seen or count(*) > 1000 then array['*'] else array_agg(c.organization_id) end
  from (
    select x.organization_id from account_change x where x.n > p_seen and x.organization_id <> '' order by x.n limit 1001
  ) c
$$;

-- True if no other organization that is not deleted has a name. The lock is kept to the commit, so that of two changes at
-- once the later one sees the name of the earlier: a volatile function reads what was committed before its statement.
create or replace function organization_name_is_free(p_name text, p_id text) returns boolean
language plpgsql volatile as $$
begin
  perform pg_advisory_xact_lock(hashtext('organization_name'));
  return not exists (select from organization o where o.name = p_name and o.id <> p_id and o.deleted_at is null);
end
$$;

-- True if no other organization that is not deleted has a name. Names that differ only in case, or in how Unicode writes
-- the same letters (NFKC), are one, because people cannot tell them apart; a database with the locale C knows the case of
-- ASCII alone. The lock is kept to the commit, so that of two changes at once the later one sees the name of the earlier:
-- a volatile function reads what was committed before its statement.
create or replace function organization_name_is_free(p_name text, p_id text) returns boolean
language plpgsql volatile as $$
declare
  wanted constant text := lower(normalize(p_name, NFKC));
begin
  perform pg_advisory_xact_lock(hashtext('organization_name'));
  return not exists (
    select from organization o
    where lower(normalize(o.name, NFKC)) = wanted and o.id <> p_id and o.deleted_at is null
  );
end
$$;

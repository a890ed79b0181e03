-- Numbers a change of key records, which processes cache. The row of '' is locked until the commit, so a reader of its
-- number sees every change up to it. Numbers are at least the time in microseconds, so none is repeated, even if a
-- standby that lacks the latest takes over.
create or replace function account_changed() returns trigger language plpgsql as $$
declare
  v_n bigint;
begin
  insert into account_change as c (organization_id, n)
  values ('', (extract(epoch from clock_timestamp()) * 1000000)::bigint)
  on conflict (organization_id) do update set n = greatest(c.n + 1, excluded.n)
  returning c.n into v_n;
  insert into account_change (organization_id, n) values (coalesce(to_jsonb(old) ->> tg_argv[0], '*'), v_n)
  on conflict (organization_id) do update set n = excluded.n;
  return null;
end
$$;

-- New organizations and keys are in no cache.
create or replace trigger organization_changed after update or delete on organization
  for each row execute function account_changed('id');
create or replace trigger api_key_changed after update or delete on api_key
  for each row execute function account_changed('organization_id');
create or replace trigger endpoint_disabled_changed after insert or update or delete on endpoint_disabled
  for each row execute function account_changed('');
create or replace trigger feature_disabled_changed after insert or update or delete on feature_disabled
  for each row execute function account_changed('');
create or replace trigger organization_truncated after truncate on organization
  for each statement execute function account_changed('');
create or replace trigger api_key_truncated after truncate on api_key
  for each statement execute function account_changed('');
create or replace trigger endpoint_disabled_truncated after truncate on endpoint_disabled
  for each statement execute function account_changed('');
create or replace trigger feature_disabled_truncated after truncate on feature_disabled
  for each statement execute function account_changed('');

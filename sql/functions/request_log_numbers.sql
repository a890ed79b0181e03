-- Returns the log's numbers of callers and paths, and assigns numbers to new names; arrays have an element per
-- combination. To be called before any balance is locked: assigning numbers may wait for concurrent calls. The caller's
-- settings make it use the indexes.
create or replace function request_log_numbers(
  p_organizations text[], p_keys text[], p_paths text[],
  out organizations integer[], out callers integer[], out paths integer[]
) language plpgsql as $$
#variable_conflict use_column
begin
  loop
    select array_agg(c.organization_no order by g.no), array_agg(c.no order by g.no), array_agg(p.no order by g.no)
    into organizations, callers, paths
    from unnest(p_organizations, p_keys, p_paths) with ordinality g (organization_id, api_key_id, path, no)
    left join lateral (
      select x.organization_no, x.no from request_caller x
      where x.organization_id = g.organization_id and x.api_key_id = g.api_key_id
      offset 0
    ) c on true
    left join lateral (select x.no from request_path x where x.path = g.path offset 0) p on true;
    exit when array_position(callers, null) is null and array_position(paths, null) is null;

    perform pg_advisory_xact_lock(hashtext('request_log_numbers'));
    with missing as (
      select m.organization_id, m.api_key_id, nextval('request_caller_no_seq')::integer as no
      from (
        select distinct g.organization_id, g.api_key_id
        from unnest(p_organizations, p_keys) g (organization_id, api_key_id)
        where not exists (
          select from request_caller x where x.organization_id = g.organization_id and x.api_key_id = g.api_key_id
        )
      ) m
    )
    insert into request_caller (no, organization_no, organization_id, api_key_id)
    select m.no,
      coalesce(
        (select min(x.organization_no) from request_caller x where x.organization_id = m.organization_id),
        min(m.no) over (partition by m.organization_id)),
      m.organization_id, m.api_key_id
    from missing m;
    insert into request_path (path)
    select distinct g.path from unnest(p_paths) g (path)
    where not exists (select from request_path x where x.path = g.path);
  end loop;
end
$$;

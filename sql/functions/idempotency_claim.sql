-- Claims an idempotency key for a request, or returns the state of the request that has it. `state` is
-- * claimed: the key was free, and p_settlement answers it;
-- * answered: the same request was answered before; `headers` and `body` are its answer, null if it was too large;
-- * busy: the same request is under way;
-- * other: another request has used this key;
-- * full: the organization's records take up p_bytes_max.
-- A key is free again a day after its first use, and p_claim_sec after a claim that has no answer by then.
-- lane gate
-- null headers, body
create or replace function idempotency_claim(
  p_organization text, p_key text, p_hash text, p_settlement text, p_claim_sec integer, p_bytes_max bigint
) returns table (state text, headers text, body text) language plpgsql as $$
#variable_conflict use_column
begin
  -- A crash of the server releases a claim.
  perform set_config('synchronous_commit', 'off', true);

  -- Repeats if the key is released between the two statements.
  loop
    insert into idempotency_record as r (organization_id, idempotency_key, request_hash, settlement_id)
    select p_organization, p_key, p_hash, p_settlement
    where coalesce((select u.bytes from idempotency_use u where u.organization_id = p_organization), 0) < p_bytes_max
      or exists (select from idempotency_record x where x.organization_id = p_organization and x.idempotency_key = p_key)
    on conflict (organization_id, idempotency_key) do update
      set request_hash = excluded.request_hash, settlement_id = excluded.settlement_id, begun_at = now(),
        answered_at = null, headers = null, body = null, bytes = 0
      where r.begun_at <= now() - interval '24 hours'
        or r.answered_at is null and r.begun_at <= now() - make_interval(secs => p_claim_sec);
    if found then
      return query select 'claimed', null::text, null::text;
      return;
    end if;

    return query
    select case
        when r.request_hash <> p_hash then 'other'
        when r.answered_at is null then 'busy'
        else 'answered'
      end,
      case when r.request_hash = p_hash then r.headers end, case when r.request_hash = p_hash then r.body end
    from idempotency_record r
    where r.organization_id = p_organization and r.idempotency_key = p_key;
    if found then
      return;
    end if;

    if (select u.bytes from idempotency_use u where u.organization_id = p_organization) >= p_bytes_max then
      return query select 'full', null::text, null::text;
      return;
    end if;
  end loop;
end
$$;

-- Admits, charges and logs requests without credits, and takes it back: fails as a real request would, for example if the
-- disk is full or this role may not write.
-- lane gate
create or replace function gate_try(p_requests integer) returns void language plpgsql as $$
declare
  v_at_ms bigint := floor(extract(epoch from now()) * 1000);
begin
  perform rate_window_prime(array['']);
  perform from gate_admit(
    (select c.n from account_change c where c.organization_id = ''), array[''], array[p_requests], array[p_requests],
    '{}', '{}', '{}');
  -- Numbers of names that the log does not have.
  perform from gate_settle_batch(
    v_at_ms / 3600000, 1, array[''], array[0::bigint],
    array[1], array[''], array[''], array[200], array[p_requests], array[0::bigint], '{}', '{}', '{}', '{}',
    array_fill(1, array[p_requests]), array_fill(v_at_ms, array[p_requests]),
    array(select pg_backend_pid() || '-' || n from generate_series(1, p_requests) n),
    array_fill(''::text, array[p_requests]), array_fill('GET'::text, array[p_requests]),
    array_fill(''::text, array[p_requests]), array_fill(0, array[p_requests]), array_fill(0, array[p_requests]),
    array_fill(1, array[p_requests]), pg_postmaster_start_time() || ' ' || pg_relation_filepath('request_caller'),
    array[0], array[0], array[0]);
  raise exception 'Taken back' using errcode = 'WS000';
exception
  when sqlstate 'WS000' then null;
end
$$;

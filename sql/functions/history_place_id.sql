-- Returns the short name of a followed target on a chain; the first call creates it.
create or replace function history_place_id(p_chain_id bigint, p_contract bytea) returns integer
language plpgsql as $$
declare
  v_id integer;
begin
  loop
    select p.id into v_id from history_place p where p.chain_id = p_chain_id and p.contract = p_contract;
    exit when v_id is not null;
    -- Looked up first, because an insert that does nothing would use up a number.
    insert into history_place (chain_id, contract) values (p_chain_id, p_contract)
    on conflict (chain_id, contract) do nothing
    returning id into v_id;
    exit when v_id is not null;
  end loop;
  return v_id;
end
$$;

-- Stores wallets' snapshots in a market at a midnight with the number of endpoints that gave them, if the block that
-- was read is still the one of that midnight; else nothing. Stored rows stay, unless fewer endpoints gave them. Returns
-- whether it was that block. Bytes are in hexadecimal without prefix; '' stands for a missing value.
-- lane read
create or replace function lending_snapshot_store(
  p_chain_id bigint, p_contract text, p_day integer, p_hash text, p_wallets text[], p_collaterals text[],
  p_debts text[], p_net_worths text[], p_health_factors text[], p_witnesses integer
) returns boolean
language plpgsql as $$
declare
  v_place integer := history_place_id(p_chain_id, decode(p_contract, 'hex'));
begin
  perform from midnight m
  where m.chain_id = p_chain_id and m.day = p_day and m.hash = decode(p_hash, 'hex') for share;
  if not found then
    return false;
  end if;
  insert into lending_snapshot as s (wallet, place, day, collateral, debt, net_worth, health_factor, witnesses)
  select
    decode(u.wallet, 'hex'), v_place, p_day, nullif(u.collateral, '')::numeric, nullif(u.debt, '')::numeric,
    nullif(u.net_worth, '')::numeric, nullif(u.health_factor, '')::numeric, p_witnesses
  from unnest(p_wallets, p_collaterals, p_debts, p_net_worths, p_health_factors)
    u (wallet, collateral, debt, net_worth, health_factor)
  on conflict (wallet, place, day) do update
  set collateral = excluded.collateral, debt = excluded.debt, net_worth = excluded.net_worth,
    health_factor = excluded.health_factor, witnesses = excluded.witnesses
  where s.witnesses < excluded.witnesses;
  return true;
end
$$;

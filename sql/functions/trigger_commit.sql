-- Commits the evaluation of a block of a partition, all or nothing: progress, states, charges, messages. Changes
-- nothing unless p_epoch holds the lease and the partition is still at the block before; `done` is then false. Bytes
-- are in hexadecimal without prefix.
-- * p_before, p_before_hash: the block evaluated before, -1 and '' for none. p_fork: the first replaced block, -1 for
--   none. p_final: older blocks are final, and deleted.
-- * p_families: the evaluated families.
-- * p_organizations to p_since: each changed state once. It must have its edition and p_numbers changes, and then gets
--   the remaining values: p_values '' for none, p_since -1 for none. p_dues: the price of its messages.
-- * p_now_ms: of the process' clock, which dates nothing; it is not read.
-- * p_bodies to p_message_changes: messages about changes, with the number of the state. Bodies are JSON, one a line:
--   as an array they would be escaped here and there.
-- * p_told_states to p_told_names: notified changes that may still be replaced. A change with '' for its name is
--   reverted; a known change gets its new block.
-- `failed` has the numbers of unchanged states: another transaction changed them, or the credits do not suffice.
-- Triggers of an organization out of credits pause.
-- lane background
create or replace function trigger_commit(
  p_chain_id bigint, p_chain_name text, p_finality text, p_shard integer, p_epoch bigint, p_lease_sec integer,
  p_limit_sec integer, p_before bigint, p_before_hash text, p_block bigint, p_block_hash text, p_block_sec bigint,
  p_fork bigint, p_final bigint, p_families text[], p_now_ms bigint,
  p_organizations text[], p_ids text[], p_editions integer[], p_numbers bigint[], p_phases text[], p_held integer[],
  p_changes bigint[], p_values text[], p_since bigint[], p_dues integer[],
  p_bodies text, p_types text[], p_message_states integer[], p_message_changes bigint[],
  p_told_states integer[], p_told_changes bigint[], p_told_blocks bigint[], p_told_names text[]
) returns table (done boolean, failed integer[]) language plpgsql
set enable_seqscan = off set enable_bitmapscan = off set enable_mergejoin = off set jit = off
-- A plan made for these very arrays has them as constants, of which each element is found by reading all before it.
set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  -- Per state: the key that pays for it and where it is told, null if it is not as it was when it was evaluated.
  v_keys text[];
  v_webhooks text[];
  -- Numbers of the states that cost something, and places in it of those that are not paid.
  v_due integer[];
  v_unpaid integer[];
begin
  failed := '{}';
  update watch_cursor c
  set block = p_block, block_hash = decode(p_block_hash, 'hex'), block_at = to_timestamp(p_block_sec),
    lease_until = clock_timestamp() + make_interval(secs => p_lease_sec)
  where c.chain_id = p_chain_id and c.finality = p_finality and c.shard = p_shard and c.epoch = p_epoch
    and coalesce(c.block, -1) = p_before and coalesce(encode(c.block_hash, 'hex'), '') = p_before_hash;
  done := found;
  if not done then
    return next;
    return;
  end if;

  delete from watch_block b
  where b.chain_id = p_chain_id and b.finality = p_finality and b.shard = p_shard
    and (b.number < p_final or (p_fork >= 0 and b.number >= p_fork));
  insert into watch_block (chain_id, finality, shard, number, hash)
  values (p_chain_id, p_finality, p_shard, p_block, decode(p_block_hash, 'hex'))
  on conflict (chain_id, finality, shard, number) do update set hash = excluded.hash;
  insert into watch_sight as s (chain_id, finality, shard, family, block, at)
  select p_chain_id, p_finality, p_shard, f.name, p_block, clock_timestamp() from unnest(p_families) f (name)
  on conflict (chain_id, finality, shard, family) do update set block = excluded.block, at = excluded.at;

  if cardinality(p_organizations) > 0 then
    select array_agg(f.api_key_id order by u.no), array_agg(f.webhook_id order by u.no)
    into v_keys, v_webhooks
    from unnest(p_organizations, p_ids, p_editions, p_numbers) with ordinality
      u (organization_id, id, edition, number, no)
    left join lateral (
      select w.api_key_id, coalesce(w.webhook_id, '') as webhook_id
      from watch w
      cross join lateral (
        select from organization o
        where o.id = w.organization_id and o.suspended_at is null and o.deleted_at is null
        offset 0
      ) o
      cross join lateral (
        select from watch_state x
        where x.organization_id = w.organization_id and x.id = w.id and x.edition = u.edition and x.changes = u.number
        for no key update
      ) s
      where w.organization_id = u.organization_id and w.id = u.id and w.paused_for is null
      offset 0
    ) f on true;

    select array_agg(d.no) into v_due
    from unnest(p_dues) with ordinality d (due, no) where d.due > 0 and v_webhooks[d.no] is not null;
    if v_due is not null then
      v_unpaid := trigger_charge(
        '/v1/triggers/message', (extract(epoch from now()) * 1000)::bigint,
        (select array_agg(p_organizations[d.no]) from unnest(v_due) d (no)),
        (select array_agg(v_keys[d.no]) from unnest(v_due) d (no)),
        (select array_agg(p_dues[d.no]) from unnest(v_due) d (no)),
        (select array_agg(p_ids[d.no] || '.' || p_changes[d.no]) from unnest(v_due) d (no)));
      if cardinality(v_unpaid) > 0 then
        perform trigger_pause((select array_agg(distinct p_organizations[v_due[n.no]]) from unnest(v_unpaid) n (no)));
        for v_no in 1 .. cardinality(v_unpaid) loop
          v_webhooks[v_due[v_unpaid[v_no]]] := null;
        end loop;
      end if;
    end if;
    select coalesce(array_agg(u.no), '{}') into failed
    from unnest(v_webhooks) with ordinality u (webhook_id, no) where u.webhook_id is null;

    update watch_state s
    set phase = u.phase, held_blocks = u.held, changes = u.changes, value = nullif(u.value, ''),
      since_block = nullif(u.since, -1)
    from (
      select u.*
      from unnest(p_organizations, p_ids, p_phases, p_held, p_changes, p_values, p_since, v_webhooks)
        u (organization_id, id, phase, held, changes, value, since, webhook_id)
      where u.webhook_id is not null
      offset 0
    ) u
    where s.organization_id = any (array[u.organization_id]) and s.id = any (array[u.id]);

    insert into watch_told as t (organization_id, id, change, chain_id, finality, shard, block, name)
    select p_organizations[u.state_no], p_ids[u.state_no], u.change, p_chain_id, p_finality, p_shard, u.block, u.name
    from unnest(p_told_states, p_told_changes, p_told_blocks, p_told_names) u (state_no, change, block, name)
    where u.name <> '' and v_webhooks[u.state_no] is not null
    on conflict (organization_id, id, change) do update set block = excluded.block;
    delete from watch_told t
    using unnest(p_told_states, p_told_changes, p_told_names) u (state_no, change, name)
    where u.name = '' and v_webhooks[u.state_no] is not null and t.organization_id = p_organizations[u.state_no]
      and t.id = p_ids[u.state_no] and t.change = u.change;
  end if;

  if exists (
    select from watch_blind_trigger b where b.chain_id = p_chain_id and b.finality = p_finality and b.shard = p_shard
  ) then
    perform trigger_sighted(p_chain_id, p_finality, p_shard, p_block, p_limit_sec, p_chain_name);
  end if;
  if cardinality(p_types) > 0 then
    perform message_add(
      (select array_agg(p_organizations[m.no]) from unnest(p_message_states) m (no)),
      (select array_agg(p_ids[m.no]) from unnest(p_message_states) m (no)),
      p_message_changes, p_types, string_to_array(p_bodies, E'\n'),
      (select array_agg(v_webhooks[m.no]) from unnest(p_message_states) m (no)));
  end if;

  -- Last, and skipping locked rows: the deletion of a trigger locks its state first, and then waits for these.
  delete from watch_told t
  where t.ctid = any (array(
    select x.ctid from watch_told x
    where x.chain_id = p_chain_id and x.finality = p_finality and x.shard = p_shard and x.block < p_final
    for update skip locked
  ));
  return next;
end
$$;

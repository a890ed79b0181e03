-- Stores rows of a history and their coverage, in any table that inherits history_row. Stored rows stay, but rows on
-- which two endpoints agreed replace those of a single endpoint; a row that is stored again unchanged keeps its other
-- columns, also with another time: not every endpoint tells the times of logs, and nothing is computed of them. A table whose primary key lacks the block says since when something is so: the earliest row of a key stays,
-- of however few endpoints. False if the chain's history is stopped or was rolled back; then nothing is stored.
-- Bytes are in hexadecimal without prefix, the subject '' for all subjects. p_subject_values are the subjects as
-- p_subject_column has them. p_row_subjects are those of the rows; they are read only if a single endpoint gave the
-- rows. p_columns are the columns that the rows bring, and p_values the values of each, as the text of an array.
-- Earlier releases call lending_event_store, liquidity_change_store, position_flow_store and wallet_entry_store, which
-- are not made any more and are to be dropped after them; they call history_cover and history_is_agreed too.
-- lane background
create or replace function history_row_store(
  p_chain_id bigint, p_contract text, p_stream text, p_subjects text[], p_from bigint, p_to bigint, p_witnesses integer,
  p_epoch bigint, p_table text, p_subject_column text, p_subject_values text[], p_row_subjects text[],
  p_columns text[], variadic p_values text[]
) returns boolean
language plpgsql as $$
declare
  v_place integer;
  v_is_doubted boolean;
  v_table regclass;
  v_key name;
  v_key_columns name[];
  -- Parts of the statements, each for all columns that the rows bring. `u` is the rows as sent, `e` those stored.
  v_columns text;
  v_values text;
  v_sent text;
  v_order text;
  v_stored text;
  v_given text;
  v_time text;
  v_replaced text;
  v_is_of_subjects text;
begin
  select c.place, c.is_doubted into v_place, v_is_doubted from history_cover(
    p_chain_id, decode(p_contract, 'hex'), p_stream,
    array(select decode(u.subject, 'hex') from unnest(p_subjects) u (subject)), p_from, p_to, p_witnesses, p_epoch
  ) c;
  if v_place is null then
    return false;
  end if;
  if p_values[1] = '{}' and not v_is_doubted then
    return true;
  end if;

  v_table := quote_ident(p_table)::regclass;
  select k.conname, array(
    select a.attname
    from unnest(k.conkey) with ordinality c (number, no)
    join pg_attribute a on a.attrelid = k.conrelid and a.attnum = c.number
    where a.attname <> 'place'
    order by c.no
  ) into v_key, v_key_columns
  from pg_constraint k
  join pg_inherits i on i.inhrelid = k.conrelid and i.inhparent = 'history_row'::regclass
  where k.conrelid = v_table and k.contype = 'p';
  if not found then
    raise exception 'cannot store rows of a history in table %: it must inherit history_row and have a primary key', v_table;
  end if;

  with sent as (
    select n.no, n.name, array_position(v_key_columns, n.name::name) as key_no,
      case t.type when 'bytea' then 'text' else t.type end as type,
      case t.type when 'bytea' then 'decode(%s, ''hex'')' else '%s' end as converted
    from unnest(p_columns) with ordinality n (name, no)
    left join pg_attribute a on a.attrelid = v_table and a.attname = n.name and a.attnum > 0
    cross join format_type(a.atttypid, null) t (type)
  )
  select
    string_agg(quote_ident(s.name), ', ' order by s.no),
    string_agg(format(s.converted, format('u.%I', s.name)), ', ' order by s.no),
    string_agg(format('v.texts[%s]::%s[]', s.no, s.type), ', ' order by s.no),
    -- Hexadecimal digits have the order of their bytes.
    string_agg(format(case s.type when 'text' then 'u.%I collate "C"' else 'u.%I' end, s.name), ', ' order by s.key_no)
      filter (where s.key_no is not null),
    string_agg(format('e.%I', s.name), ', ' order by s.no) filter (where s.name <> 'time'),
    string_agg(format(s.converted, format('u.%I', s.name)), ', ' order by s.no) filter (where s.name <> 'time'),
    string_agg(format('%1$I = excluded.%1$I', s.name), ', ') filter (where s.name = 'time' and s.key_no is null),
    string_agg(format('%1$I = excluded.%1$I', s.name), ', ') filter (where s.key_no is null),
    string_agg(
      format('e.%I = any (array(select %s from unnest($3::%s[]) s))', s.name, format(s.converted, 's'), s.type), ''
    ) filter (where s.name = p_subject_column)
  into v_columns, v_values, v_sent, v_order, v_stored, v_given, v_time, v_replaced, v_is_of_subjects
  from sent s;
  -- The planner would convert constant arrays to estimate their lengths: it does not see into this.
  v_sent := '(select $1 as texts offset 0) v, unnest(' || v_sent;

  if not 'block' = any (v_key_columns) then
    execute format(
      'insert into %1$s as e (place, %2$s)
       select distinct on (%3$s) $2, %4$s
       from %5$s) u (%2$s)
       -- In one order, so that concurrent calls with the same rows do not deadlock.
       order by %3$s, u.block
       on conflict on constraint %6$I do update set %7$s where excluded.block < e.block',
      v_table, v_columns, v_order, v_values, v_sent, v_key, v_replaced
    ) using p_values, v_place;
    return true;
  end if;
  if v_is_doubted then
    -- Texts, which are never null, are looked up in a hash table; rows would be compared each with each.
    execute format(
      'delete from %1$s e
       where e.place = $2 and e.block between $4 and $5 and ($6 or %2$s)
         and row(%3$s)::text not in (select row(%4$s)::text from %5$s) u (%6$s))',
      v_table, v_is_of_subjects, v_stored, v_given, v_sent, v_columns
    ) using p_values, v_place, p_subject_values, p_from, p_to, p_subjects = array[''];
  end if;
  execute format(
    'insert into %1$s as e (place, %2$s)
     select $2, %3$s
     from %4$s, $3) u (%2$s, row_subject)
     where $4 >= 2 or not history_is_agreed($2, $5, decode(u.row_subject, ''hex''), u.block)
     -- Rows of one subject lie together, which costs less to store and to read.
     order by %5$s
     on conflict on constraint %6$I do %7$s',
    v_table, v_columns, v_values, v_sent, v_order, v_key,
    case
      when v_is_doubted and v_time is not null then format('update set %s where e.time is distinct from excluded.time', v_time)
      else 'nothing'
    end
  ) using p_values, v_place, p_row_subjects, p_witnesses, p_stream;
  return true;
end
$$;

-- Lists the columns of tables except generated ones, from the catalogue, with the last numbers of their sequences. No
-- rows for an absent table; for a parent table, those of its children.
-- lane background
-- $1 tables text[]
-- not null table_name, name, type
select c.relname::text as table_name, a.attname::text as name,
  format_type(a.atttypid, a.atttypmod) as type,
  pg_get_serial_sequence(format('%I.%I', n.nspname, c.relname), a.attname) as sequence,
  pg_sequence_last_value(pg_get_serial_sequence(format('%I.%I', n.nspname, c.relname), a.attname)::regclass)::text as reached
from unnest($1::text[]) with ordinality w (name, no)
join pg_class named on named.relname = w.name and named.relnamespace = current_schema()::regnamespace
left join pg_inherits i on i.inhparent = named.oid and named.relkind = 'r'
join pg_class c on c.oid = coalesce(i.inhrelid, named.oid)
join pg_namespace n on n.oid = c.relnamespace
join pg_attribute a on a.attrelid = c.oid
where a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
order by w.no, c.relname, a.attnum

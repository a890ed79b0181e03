-- Columns of these tables except generated ones, as the catalogue has them, with the last numbers of their sequences;
-- no rows for an absent table, and for one that others inherit those of the others.
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

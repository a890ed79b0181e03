-- runs with: 24
-- The account of the operating system in which a command was run that made a change; null for changes of any other actor,
-- and for those that were made before.
alter table audit_entry add column account text;

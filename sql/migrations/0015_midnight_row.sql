-- What was read at a midnight. Every table of such rows inherits this one, so that a midnight whose block is replaced
-- takes them along, and a backup finds all of them. It has no rows of its own.
create table midnight_row (
  place integer not null,
  -- Days since the Unix epoch, of the day that the midnight begins.
  day integer not null,
  check (false) no inherit
);

alter table lending_snapshot inherit midnight_row;
alter table portfolio_snapshot inherit midnight_row;

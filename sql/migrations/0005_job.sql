-- Work that one process does while the others leave it alone. A row that a dead process left is taken by the next one.
create table lease (
  -- What kind of work, and what of it is done.
  job text not null,
  subject text not null,
  -- The process that does it.
  holder text not null,
  -- From then on others may take it.
  until timestamptz not null,
  primary key (job, subject)
);

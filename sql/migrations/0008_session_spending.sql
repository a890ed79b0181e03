-- What sessions of agents have spent of the budgets that their callers set. Budgets themselves come with each request.
create table session_spending (
  organization_id text not null,
  -- Made by us or by the caller.
  session_id text not null,
  credits bigint not null check (credits >= 0),
  spent_at timestamptz not null default now(),
  primary key (organization_id, session_id)
);

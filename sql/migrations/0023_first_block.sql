-- First blocks of contracts whose configuration names none, each found once by bisecting, and proven by two endpoints:
-- one block with the contract, and the block before it without. They never change.
create table first_block (
  chain_id bigint not null,
  -- The contract, and the getters that a whole deployment answers: another question is another row.
  contract bytea not null,
  getters text not null,
  block bigint not null check (block > 0),
  primary key (chain_id, contract, getters)
);

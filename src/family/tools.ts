/*
 * Tools that families share. Routes that answer the same question, each of its protocol, are one tool with a parameter
 * `protocol`: a model that asks for the positions of a wallet sees what else it could ask.
 */

/** Tools of liquidity positions. */
export const LIQUIDITY_TOOLS = {
  list: {
    name: 'list_liquidity_positions',
    title: 'Liquidity positions of a wallet',
    description:
      'Liquidity positions of a wallet: pool, range, whether it is in range; closed ones with status=inactive. Of Uniswap V4 the first call may be 503 while they are searched.',
  },
  position: {
    name: 'read_liquidity_position',
    title: 'One liquidity position',
    description: 'One liquidity position by its id: pool, range, whether it is in range.',
  },
  pnl: {
    name: 'read_liquidity_pnl',
    title: 'Profit and loss of a liquidity position',
    description: 'Profit and loss of one liquidity position over the life of its token, also after it was burned.',
  },
  events: {
    name: 'list_liquidity_events',
    title: 'Events of a liquidity position',
    description: 'What went into one liquidity position and out of it, priced at its time, newest first.',
  },
} as const

/** Tools of lending positions. */
export const LENDING_TOOLS = {
  list: {
    name: 'list_lending_positions',
    title: 'Lending positions of a wallet',
    description: 'What a wallet has supplied and borrowed, with health factor, risk and yield.',
  },
  batch: {
    name: 'list_lending_health',
    title: 'Lending health of many wallets',
    description: 'Health factor, net worth and net APY of the lending positions of many wallets.',
  },
  events: {
    name: 'list_lending_events',
    title: 'Lending events of a wallet',
    description: 'What a wallet did in one market, newest first. At first it may be 503 while its history is read.',
  },
  snapshots: {
    name: 'list_lending_snapshots',
    title: 'Daily lending snapshots of a wallet',
    description: 'What it had in one market at each UTC midnight.',
  },
  yield: {
    name: 'read_lending_yield',
    title: 'Yield of one lending position',
    description: 'Interest earned and paid, net APY, leverage and weighted APYs of one lending position.',
  },
  risk: { name: 'read_lending_risk', title: 'Risk of one lending position' },
} as const

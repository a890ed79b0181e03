/** One deployment of Kamino Lend. */
export interface KaminoProgram {
  /** Owner of obligations, reserves and markets, base58. */
  readonly programId: string
  /** Owner of the feeds that reserves take their prices from, base58: Scope. */
  readonly scopeProgramId: string
}

/** Kamino Lend on Solana's mainnet. */
export const KAMINO_MAINNET: KaminoProgram = {
  programId: 'KLend2g3cP87fffoy8q1mQqGKjrxjC8boSyAYavgmjD',
  scopeProgramId: 'HFn8GnPADiny6XqUoWE8uRPPxb29ikn4yTuPa9MF2fWJ',
}

/** A market and its known reserves. Each row is a hint: it is used only once its account was read. */
export interface KaminoMarket {
  readonly market: string
  /** Address lookup table with more accounts of the market. */
  readonly lookupTable?: string | undefined
  readonly reserves: readonly string[]
}

/** The market whose reserves' prices are trusted: the one with the most borrowed against them. */
export const KAMINO_MAIN: KaminoMarket = {
  market: '7u3HeHxYDLhnCoErrtycNokbQYbWGzLs6JSDqGAv5PfF',
  lookupTable: '284iwGtA9X9aLy3KsyV8uT2pXLARhYbiSi5SiM2g47M2',
  reserves: [
    'd4A2prbA2whesmvHaL88BH6Ewn5N4bTSU2Ze8P6Bc4Q',
    'D6q6wuQSrifJKZYpR1M8R4YawnLDtDsMmWM1NbBmgJ59',
    'H3t6qZ1JkguCNTi9uzVKqQ7dvt2cum4XiXWom6Gn5e5S',
    'EVbyPKrHG6WBfm4dLxLMJpUDY43cCAcHSpV3KYjKsktW',
    'FBSyPnxtHKLBZ4UeeUyAnbtFuAmTHLtso9YtsqRDRWpM',
  ],
}

/** Source of prices: a market's reserves, and the programs that own them. */
export interface PriceMarket {
  readonly market: KaminoMarket
  readonly kamino: KaminoProgram
}

/** Settings of the price market in a `CHAINS_FILE`. */
export interface PriceMarketRow {
  readonly klendProgram?: string | undefined
  readonly scopeProgram?: string | undefined
  readonly kaminoMarkets?: readonly KaminoMarket[] | undefined
}

/** Creates the market whose prices are trusted, with the reserves that the row adds to it. */
export function createPriceMarket({
  kaminoMarkets = [],
  klendProgram,
  scopeProgram,
}: PriceMarketRow = {}): PriceMarket {
  const main = kaminoMarkets.filter(({ market }) => market === KAMINO_MAIN.market)
  const reserves = [...KAMINO_MAIN.reserves, ...main.flatMap((row) => row.reserves)]
  return {
    market: { ...KAMINO_MAIN, reserves: [...new Set(reserves)] },
    kamino: {
      programId: klendProgram ?? KAMINO_MAINNET.programId,
      scopeProgramId: scopeProgram ?? KAMINO_MAINNET.scopeProgramId,
    },
  }
}

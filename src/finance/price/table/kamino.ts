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

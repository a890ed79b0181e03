/** One deployment of Kamino Lend and how fast its chain goes. */
export interface KaminoProgram {
  /** Owner of obligations, reserves and markets, base58. */
  readonly programId: string
  /** Owner of the feeds that reserves take their prices from, base58: Scope. */
  readonly scopeProgramId: string
  /** How long a slot really lasts, whole milliseconds from 100 to 10,000: yearly rates are reckoned with it. */
  readonly slotMs: number
}

/**
 * Kamino Lend on Solana's mainnet. The program takes a slot for 500 ms; 400 is what the network aims at and what
 * Kamino itself shows yields with.
 */
export const KAMINO_MAINNET: KaminoProgram = {
  programId: 'KLend2g3cP87fffoy8q1mQqGKjrxjC8boSyAYavgmjD',
  scopeProgramId: 'HFn8GnPADiny6XqUoWE8uRPPxb29ikn4yTuPa9MF2fWJ',
  slotMs: 400,
}

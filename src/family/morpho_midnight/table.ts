import type { Address } from 'viem'
import { byChain } from '../../chain/chain.ts'

/** Morpho Midnight on one chain: one contract with all its markets. */
export interface MidnightDeployment {
  readonly midnight: Address
  /** First block with events of the contract. */
  readonly startBlock: number
}

/**
 * Morpho's own deployments by chain id; `startBlock` is the block that created the contract. Sources: Morpho's registry
 * of September 2026 (`morpho-org/sdks`); Base is in `@morpho-org/morpho-ts` 2.8.0 too, which
 * `test/unit/family/morpho_midnight/events_test.ts` compares.
 */
export const MORPHO_MIDNIGHT_DEPLOYMENTS: ReadonlyMap<number, MidnightDeployment> = byChain({
  1: { midnight: '0x471686c42792F93528B000beF54bC10E3aa2045f', startBlock: 25_798_183 },
  4663: { midnight: '0x6120765Ba5336150BbdDdD0Cd9108B5bFD369632', startBlock: 65_366_296 },
  5042: { midnight: '0x208786922BE56fDE2D1Fa60e6b9eC5D723e8d7b0', startBlock: 20_320_779 },
  8453: { midnight: '0xAdedD8ab6dE832766Fedf0FaC4992E5C4D3EA18A', startBlock: 48_286_884 },
})

import type { Address } from 'viem'

/** Morpho Blue on one chain: one contract with all its markets. */
export interface MorphoBlueDeployment {
  readonly morpho: Address
  /** First block with events of the contract. */
  readonly startBlock: number
}

/** Morpho's own deployments by chain id; Avalanche has none. `startBlock` is the block that created the contract. */
export const MORPHO_BLUE_DEPLOYMENTS: ReadonlyMap<number, MorphoBlueDeployment> = new Map([
  [1, { morpho: '0xBBBBBbbBBb9cC5e90e3b3Af64bdAF62C37EEFFCb', startBlock: 18_883_124 }],
  [10, { morpho: '0xce95AfbB8EA029495c66020883F87aaE8864AF92', startBlock: 130_770_075 }],
  [56, { morpho: '0x01b0Bd309AA75547f7a37Ad7B1219A898E67a83a', startBlock: 54_344_680 }],
  [137, { morpho: '0x1bF0c2541F820E775182832f06c0B7Fc27A25f67', startBlock: 66_931_042 }],
  [8_453, { morpho: '0xBBBBBbbBBb9cC5e90e3b3Af64bdAF62C37EEFFCb', startBlock: 13_977_148 }],
  [42_161, { morpho: '0x6c247b1F6182318877311737BaC0844bAa518F5e', startBlock: 296_446_593 }],
])

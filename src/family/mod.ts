import { AAVE_V3 } from './aave_v3/mod.ts'
import { AAVE_V4 } from './aave_v4/mod.ts'
import { COMPOUND_V3 } from './compound_v3/mod.ts'
import type { Family } from './contract.ts'
import { KAMINO } from './kamino/mod.ts'
import { MORPHO_BLUE } from './morpho_blue/mod.ts'
import { MORPHO_MIDNIGHT } from './morpho_midnight/mod.ts'
import { ORCA_WHIRLPOOL } from './orca_whirlpool/mod.ts'
import { SLIPSTREAM } from './slipstream/mod.ts'
import { UNISWAP_V2 } from './uniswap_v2/mod.ts'
import { UNISWAP_V3 } from './uniswap_v3/mod.ts'
import { UNISWAP_V4 } from './uniswap_v4/mod.ts'
import { VAULTS } from './vaults/mod.ts'

/** All protocols that are served: one line each. */
export const FAMILIES: readonly Family[] = [
  UNISWAP_V3,
  UNISWAP_V4,
  SLIPSTREAM,
  ORCA_WHIRLPOOL,
  AAVE_V3,
  AAVE_V4,
  COMPOUND_V3,
  MORPHO_BLUE,
  MORPHO_MIDNIGHT,
  UNISWAP_V2,
  VAULTS,
  KAMINO,
]

/** Maps aliases of families in paths to the name in answers. */
export function familyAliases(families: readonly Pick<Family, 'name' | 'aliases'>[]): ReadonlyMap<string, string> {
  return new Map(families.flatMap(({ name, aliases }) => aliases.map((alias) => [alias, name] as const)))
}

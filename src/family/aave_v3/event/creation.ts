import { type Address, getContractAddress, type Hex } from 'viem'
import { isIndexTracked } from './balance.ts'
import type { ReserveToken } from './target.ts'

/**
 * True if the tokens are all that the market's configurator ever created, so that no reserve was ever dropped: it
 * creates nothing but the tokens of a reserve, its supply token, then one for stable debt in older versions, then the
 * one for variable debt (ConfiguratorLogic.executeInitReserve), each at the address that follows from its own nonce,
 * which begins at 1, or at 0 if a development chain put its code. `nonce` is the one of its next creation.
 */
export function hasAllTokens(
  tokens: ReadonlyMap<Hex, ReserveToken>,
  { configurator, nonce }: { readonly configurator: Address; readonly nonce: number },
): boolean {
  const createdAt = (at: number) => getContractAddress({ from: configurator, nonce: BigInt(at) }).toLowerCase() as Hex
  const found = new Set<Hex>()
  let at = tokens.has(createdAt(0)) ? 0 : 1
  while (at < nonce) {
    const [supply, second, third] = [createdAt(at), createdAt(at + 1), createdAt(at + 2)]
    const token = tokens.get(supply)
    if (token?.side !== 'supply') return false
    const isDebt = (debt: Hex) => {
      const each = tokens.get(debt)
      return each?.side === 'variable_debt' && each.asset === token.asset
    }
    const debt = [second, third].find(isDebt)
    if (debt === undefined) return false
    found.add(supply).add(debt)
    at += debt === second ? 2 : 3
  }
  return at === nonce && [...tokens].every(([address, token]) => !isIndexTracked(token) || found.has(address))
}

import { type Address, getContractAddress, type Hex } from 'viem'
import { isIndexTracked } from './balance.ts'
import type { ReserveToken } from './target.ts'

/**
 * True if the tokens are all that the market's configurator ever created, so that no reserve was ever dropped. The
 * configurator creates only the tokens of reserves: the supply token, in older versions the stable debt token, then the
 * variable debt token (ConfiguratorLogic.executeInitReserve). Each address follows from the configurator's nonce, which
 * starts at 1, or at 0 if a development chain set its code. `nonce` is that of the next creation.
 */
export function hasAllTokens(
  tokens: ReadonlyMap<Hex, ReserveToken>,
  { configurator, nonce }: { readonly configurator: Address; readonly nonce: number },
): boolean {
  const getCreatedAddress = (createdNonce: number) =>
    getContractAddress({ from: configurator, nonce: BigInt(createdNonce) }).toLowerCase() as Hex
  const foundTokens = new Set<Hex>()
  let nextNonce = tokens.has(getCreatedAddress(0)) ? 0 : 1
  while (nextNonce < nonce) {
    const [supply, second, third] = [
      getCreatedAddress(nextNonce),
      getCreatedAddress(nextNonce + 1),
      getCreatedAddress(nextNonce + 2),
    ]
    const token = tokens.get(supply)
    if (token?.side !== 'supply') return false
    const isDebt = (debt: Hex) => {
      const each = tokens.get(debt)
      return each?.side === 'variable_debt' && each.asset === token.asset
    }
    const debt = [second, third].find(isDebt)
    if (debt === undefined) return false
    foundTokens.add(supply).add(debt)
    nextNonce += debt === second ? 2 : 3
  }
  return (
    nextNonce === nonce && [...tokens].every(([address, token]) => !isIndexTracked(token) || foundTokens.has(address))
  )
}

import type { Address } from 'viem'
import type { PricedToken } from '../../finance/token/priced_token.ts'
import type { HoldingExit } from '../exit.ts'

/** How a liquidity position is taken out. */
export type PositionExit = Omit<HoldingExit, 'position'>

/** The tokens of a position without a source of prices, which may be hostile. */
export function listSuspects(position: { readonly token0: PricedToken; readonly token1: PricedToken }): Address[] {
  return [position.token0, position.token1].filter(({ price }) => price === undefined).map(({ address }) => address)
}

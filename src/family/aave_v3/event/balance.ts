import { type Address, getContractAddress, type Hex } from 'viem'
import { RAY } from '../../../finance/math/rate.ts'
import { IncompleteError } from '../../../history/stream.ts'
import { groupBy } from '../../../lib/group_by.ts'
import type { LendingEvent, LendingEventKind } from '../../lending/lending_event.ts'
import type { LendingTarget, ReserveToken } from './log.ts'

/**
 * GHO on Ethereum: before 3.4 its borrowers had a discount, so their interest did not follow from the index. Since
 * 1 September 2025 GHO is a reserve like all others.
 */
const DISCOUNTED: Hex = '0x40d16fc0246ad3160ccc09b8d0d3a2cd28ae6c2f'
const DISCOUNTED_UNTIL_SEC = 1_756_684_800
/** All markets had 3.0.1 by then (1 March 2023); before, the value of a transfer was not scaled. */
export const SCALED_SINCE_SEC = 1_677_628_800

/** A wallet's state in a token: `scaledBalanceOf` and `getPreviousIndex`. */
export interface TokenBalance {
  readonly token: Hex
  readonly scaled: bigint
  readonly indexRay: bigint
}

const SUPPLY_KINDS: readonly LendingEventKind[] = [
  'supply',
  'withdraw',
  'send',
  'receive',
  'raise_supply',
  'lower_supply',
]
const RAISING_KINDS: readonly LendingEventKind[] = ['supply', 'borrow', 'receive', 'raise_supply', 'raise_debt']

/**
 * Checks a wallet's complete rows against its state in the tokens at a later block: the movements must add up to the
 * scaled balance, and the last one must have stored its index. Throws `IncompleteError` with the check `state`.
 */
export function checkBalances(
  target: LendingTarget,
  rows: readonly LendingEvent[],
  { balances, toBlock }: { readonly balances: readonly TokenBalance[]; readonly toBlock: number },
): void {
  const rowsByToken = groupBy(rows, getTokenKey)
  for (const { token, scaled, indexRay } of balances) {
    const reserve = target.tokens.get(token)
    if (reserve === undefined || !isIndexTracked(reserve)) continue
    const moves = rowsByToken.get(`${reserve.asset}:${reserve.side === 'supply'}`) ?? []
    if (moves.some(({ timestampSec }) => mayBeDiscounted(reserve.asset, timestampSec))) continue
    const indexed = moves.filter((row) => row.indexRay !== null)
    const last = indexed.toSorted((a, b) => a.block - b.block || a.logIndex - b.logIndex).at(-1)
    const [min, max] = sumScaled(indexed)
    const isWrittenDown = last === undefined ? indexRay === 0n : last.indexRay === indexRay || !isScaled(last)
    if (min <= scaled && scaled <= max && isWrittenDown) continue
    throw new IncompleteError('state', { fromBlock: last?.block ?? target.startBlock, toBlock })
  }
}

/** True for tokens whose balances follow from an index. */
export function isIndexTracked({ side }: ReserveToken): boolean {
  return side !== 'stable_debt'
}

/** True if a debt may have grown by less than its index. */
export function mayBeDiscounted(asset: Hex, timestampSec: number | null): boolean {
  return asset === DISCOUNTED && (timestampSec === null || timestampSec < DISCOUNTED_UNTIL_SEC)
}

/** Key of the token that a row moved: a reserve's supply or its debt. */
function getTokenKey({ kind, leg, asset }: LendingEvent): string {
  return `${asset}:${SUPPLY_KINDS.includes(kind) || (kind === 'liquidation' && leg === 1)}`
}

/** Lower and upper bound of the scaled sum of movements. */
function sumScaled(rows: readonly LendingEvent[]): readonly [least: bigint, most: bigint] {
  let [min, max] = [0n, 0n]
  for (const row of rows) {
    const [low, high] = computeScaled(row)
    const isRaise = RAISING_KINDS.includes(row.kind)
    min += isRaise ? low : -high
    max += isRaise ? high : -low
  }
  return [min, max]
}

/** Lower and upper bound of the scaled amount of a movement, since versions round differently. */
function computeScaled(row: LendingEvent): readonly [bigint, bigint] {
  const { kind, amount, indexRay } = row
  const index = indexRay ?? RAY
  const scaled = (amount * RAY) / index
  if (kind === 'send' || kind === 'receive') return isScaled(row) ? [amount, amount] : [scaled - 1n, amount]
  // These amounts come from the token's log, which rounds balances, not amounts.
  const slack = kind.includes('_') ? getMaxRounding(index) + 1n : 1n
  return [scaled - slack, scaled + slack]
}

function isScaled({ kind, timestampSec }: LendingEvent): boolean {
  if (kind !== 'send' && kind !== 'receive') return true
  return timestampSec !== null && timestampSec >= SCALED_SINCE_SEC
}

/**
 * True if two amounts differ by rounding only. Since 3.5 balances are rounded to whole scaled units, each worth the
 * index, and both the amount and the balance are rounded.
 */
export function isWithinRounding(a: bigint, b: bigint, indexRay: bigint = RAY): boolean {
  if (a === b) return true
  const distance = a > b ? a - b : b - a
  return distance <= getMaxRounding(indexRay)
}

/** The largest difference by rounding, smallest units. */
export function getMaxRounding(indexRay: bigint): bigint {
  return indexRay / RAY + 2n
}

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

import type { Snapshot } from '../../../../src/family/kamino/math/position.ts'
import { decodeMarket, decodeObligation, decodeReserve } from '../../../../src/family/kamino/read/accounts/layout.ts'
import { computeReservePrice, decodeScopeEntry } from '../../../../src/finance/price/scope.ts'
import { rational } from '../../../../src/lib/number/rational.ts'
import type { ServedAccounts } from '../../../support/kamino.ts'
import { FEED, MARKET, OBLIGATION, type SceneChanges, SLOT, SOL, scene } from '../../../support/kamino_scene.ts'

interface SnapshotOptions {
  readonly changes?: SceneChanges
  readonly slot?: number
  /** When the scene was priced, which is its time. @default the machine's own */
  readonly pricedAtSec?: bigint
  /** Patches bytes of the scene's accounts. */
  readonly edit?: (accounts: ServedAccounts) => void
}

/** The scene as a reader returns it. */
export function createSnapshot({ changes, slot = SLOT, pricedAtSec, edit }: SnapshotOptions = {}): Snapshot {
  const accounts = scene(changes, pricedAtSec === undefined ? {} : { pricedAtSec })
  edit?.(accounts)
  const data = (address: string) => accounts[address]?.data ?? new Uint8Array()
  const obligation = decodeObligation(data(OBLIGATION))
  const nowSec = decodeReserve(data(SOL)).priceTimestampSec
  const assets = [...obligation.deposits, ...obligation.borrows].map(({ reserve: address }) => {
    const reserve = decodeReserve(data(address))
    const used = reserve.scopeChain.filter((index) => index < 512)
    const found = computeReservePrice(reserve, {
      entries: used.map((index) => decodeScopeEntry(data(FEED), index)),
      nowSec,
    })
    const price = found.kind === 'none' ? rational(1n, 1n) : found.price
    return [address, { reserve, price, isSteady: true }] as const
  })
  const market = decodeMarket(data(MARKET))
  return { slot: BigInt(slot), timestampSec: nowSec, obligation, market, assets: new Map(assets) }
}

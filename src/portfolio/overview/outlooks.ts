import type { PositionOutlook } from '../../family/outlook.ts'
import type { AssetsRead, Row } from '../sum/row.ts'

/** A row and the wallet that has it. */
export interface OwnedRow extends Row {
  readonly wallet: string
}

/** A position of a wallet, and what its family says of it. */
export interface OwnedOutlook {
  readonly wallet: string
  readonly chainId: number
  readonly outlook: PositionOutlook
}

/** Collects what families say of the positions of wallets, by `toKey`. */
export function collectOutlooks(reads: readonly OwnedRead[]): ReadonlyMap<string, OwnedOutlook> {
  const owned = reads.flatMap(({ wallet, read }) => {
    const { chainId } = read.block
    return (read.outlooks?.() ?? []).map((outlook) => ({ wallet, chainId, outlook }))
  })
  return new Map(owned.map((each) => [toKey(each.wallet, each.chainId, each.outlook.position), each]))
}

/** A wallet's read of a chain. */
interface OwnedRead {
  readonly wallet: string
  readonly read: Pick<AssetsRead, 'block' | 'outlooks'>
}

/** Returns a key of a position, the same for all of its rows. */
export function toKey(wallet: string, chainId: number, { part: _, ...ids }: PositionOutlook['position']): string {
  return JSON.stringify([wallet, chainId, ...Object.entries(ids).sort(([a], [b]) => (a < b ? -1 : 1))])
}

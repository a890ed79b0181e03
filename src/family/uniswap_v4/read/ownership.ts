import type { Address } from 'viem'
import type { PinnedBlock } from '../../../chain/block.ts'
import type { FinanceClient } from '../../../finance/chain.ts'
import type { Work } from '../../../lib/async/work.ts'
import { UnavailableError } from '../../../lib/error.ts'
import { createLru } from '../../../lib/lru.ts'
import type { FamilyServices } from '../../contract.ts'
import type { UniswapV4Deployment } from '../table.ts'
import type { OwnedRead } from './queries.ts'

/** Most wallets whose ids are cached, and most ids in all. */
const WALLETS_MAX = 20_000
const IDS_MAX = 500_000
/** Another endpoint or the next block may give all positions. */
const RETRY_SEC = 5

/** A wallet and the deployment that its positions are read from. */
export interface WalletTarget {
  readonly wallet: Address
  readonly client: FinanceClient
  readonly deployment: UniswapV4Deployment
}

/**
 * Finds distinct ids that include all that a wallet owns at a block. Throws `PendingError` with the progress until they
 * are known.
 */
export type FindOwnedIds = (target: WalletTarget, block: PinnedBlock, work: Work) => Promise<readonly bigint[]>

/** Returns the finder as a receipt needs it, if one is made. What it finds is complete by the manager's own count. */
export function testifyOwned(find: FindOwnedIds, { testimony }: Pick<FamilyServices, 'testimony'>): FindOwnedIds {
  if (testimony === undefined) return find
  return async (target, block, work) => {
    const subject = { chainId: target.client.chain.id, name: 'uniswap-v4 positions' }
    const texts = await testimony.tell(subject, async (client) =>
      (await find({ ...target, client }, block, work)).map(String),
    )
    return texts.map(BigInt)
  }
}

/** A wallet, and the most positions to read. */
interface OwnedQuery extends WalletTarget {
  readonly positionsMax: number
  /** True if the first ones are read of more. @default {false} */
  readonly takesFirst?: boolean
}

/** Reads which of some ids a wallet owns, at the given block or else at the newest. */
interface WalletReading {
  readonly block: PinnedBlock | undefined
  readonly read: (ids: readonly bigint[], block: PinnedBlock | undefined) => Promise<OwnedRead>
  /** Reads the newest block, for reads that must share one. */
  readonly pin: () => Promise<PinnedBlock>
}

/**
 * Reads all positions of a wallet, or a read whose balance exceeds `positionsMax`; takes one read if the cached ids are
 * current. The list is complete if it has as many ids as the balance that the manager returns in the same call. Throws
 * `UnavailableError` naming the check `ownership` if ids are missing, else as `FindOwnedIds` and the read.
 */
export type ReadAllOwned = (query: OwnedQuery, reading: WalletReading, work: Work) => Promise<OwnedRead>

/** Creates a reader that caches the ids of wallets' positions. */
export function createOwnershipReader(find: FindOwnedIds): ReadAllOwned {
  const idCache = createLru<readonly bigint[]>({
    entriesMax: WALLETS_MAX,
    weightMax: IDS_MAX,
    getWeight: ({ length }) => length,
  })

  return async (query, { block, read, pin }, work) => {
    const { wallet, client, deployment, positionsMax, takesFirst = false } = query
    const key = `${client.chain.id}:${deployment.positionManager}:${wallet}`
    const cachedIds = idCache.get(key)
    const cachedRead = await read(cachedIds ?? [], block)
    const lacksFirst = takesFirst && cachedIds === undefined && cachedRead.balance > BigInt(positionsMax)
    if (isComplete(cachedRead, positionsMax) && !lacksFirst) return cachedRead
    const pinned = block ?? (await pin())
    const ownedRead = await read(await find(query, pinned, work), pinned)
    if (!isComplete(ownedRead, positionsMax)) throw ownershipError(query, ownedRead)
    // Ids of a past block are no help for the newest one.
    if (block === undefined && ownedRead.balance <= BigInt(positionsMax)) idCache.set(key, ownedRead.owned)
    return ownedRead
  }
}

/** Whether the read has all positions, or too many to list. */
function isComplete({ balance, owned }: OwnedRead, positionsMax: number): boolean {
  return balance > BigInt(positionsMax) || BigInt(owned.length) === balance
}

function ownershipError({ wallet, client: { chain }, deployment }: WalletTarget, { balance, owned }: OwnedRead) {
  return new UnavailableError(
    `Cannot list the positions of ${wallet} on chain ${chain.id} (${chain.name}): check "ownership" failed, manager ` +
      `${deployment.positionManager} says that it owns ${balance}, and ${owned.length} were found`,
    { retryAfterSec: RETRY_SEC },
  )
}

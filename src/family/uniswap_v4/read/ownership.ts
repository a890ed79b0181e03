import type { Address } from 'viem'
import type { PinnedBlock } from '../../../chain/block.ts'
import type { FinanceClient } from '../../../finance/chain.ts'
import { UnavailableError } from '../../../lib/error.ts'
import { createLru } from '../../../lib/lru.ts'
import type { UniswapV4Deployment } from '../table/deployments.ts'
import type { OwnedRead } from './queries.ts'

/** Wallets whose ids are remembered, and how many ids that is together. */
const WALLETS_MAX = 20_000
const IDS_MAX = 500_000
/** Another endpoint or the next block may tell otherwise. */
const RETRY_SEC = 5

/** Whose positions, and where. */
export interface WalletTarget {
  readonly wallet: Address
  readonly client: FinanceClient
  readonly deployment: UniswapV4Deployment
}

/**
 * Finds ids, each once, among which are all that a wallet owns at a block. Throws `PendingError` until they are known,
 * with the progress.
 */
export type FindOwnedIds = (asked: WalletTarget, block: PinnedBlock, signal: AbortSignal) => Promise<readonly bigint[]>

/** The same, and how many positions are looked for. */
interface AskedWallet extends WalletTarget {
  readonly positionsMax: number
}

/** How a wallet is read: which of some ids it owns, at the block given or else at the newest. */
interface WalletReading {
  readonly block: PinnedBlock | undefined
  readonly read: (ids: readonly bigint[], block: PinnedBlock | undefined) => Promise<OwnedRead>
  /** The newest block, for readings that must see one. */
  readonly pin: () => Promise<PinnedBlock>
}

/**
 * Reads all positions of a wallet, or the reading that shows that they are more than `positionsMax`: in one reading if
 * they are as remembered. They are proved by their number, which the manager says in the same call. Throws
 * `UnavailableError` naming the check `ownership` if fewer are found, else as `FindOwnedIds` and as the reading.
 */
export type ReadAllOwned = (asked: AskedWallet, reading: WalletReading, signal: AbortSignal) => Promise<OwnedRead>

/** Makes a reader that remembers which positions wallets have. */
export function createOwnershipReader(find: FindOwnedIds): ReadAllOwned {
  const remembered = createLru<readonly bigint[]>({
    entriesMax: WALLETS_MAX,
    weightMax: IDS_MAX,
    weightOf: ({ length }) => length,
  })

  return async (asked, { block, read, pin }, signal) => {
    const { wallet, client, deployment, positionsMax } = asked
    const key = `${client.chain.id}:${deployment.positionManager}:${wallet}`
    const known = await read(remembered.get(key) ?? [], block)
    if (isWhole(known, positionsMax)) return known
    const pinned = block ?? (await pin())
    const found = await read(await find(asked, pinned, signal), pinned)
    if (!isWhole(found, positionsMax)) throw notOwned(asked, found)
    // What was so in the past says little about now.
    if (block === undefined && found.balance <= BigInt(positionsMax)) remembered.set(key, found.owned)
    return found
  }
}

/** Whether these are all positions, or so many that none are listed. */
function isWhole({ balance, owned }: OwnedRead, positionsMax: number): boolean {
  return balance > BigInt(positionsMax) || BigInt(owned.length) === balance
}

function notOwned({ wallet, client: { chain }, deployment }: WalletTarget, { balance, owned }: OwnedRead) {
  return new UnavailableError(
    `Cannot list the positions of ${wallet} on chain ${chain.id} (${chain.name}): check "ownership" failed, manager ` +
      `${deployment.positionManager} says that it owns ${balance}, and ${owned.length} were found`,
    { retryAfterSec: RETRY_SEC },
  )
}

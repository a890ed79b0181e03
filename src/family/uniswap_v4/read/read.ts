import type { Address } from 'viem'
import { type Block, isSameBlock } from '../../../chain/block.ts'
import { createBlockCache, type Fresh } from '../../../chain/block_cache.ts'
import { type LensAccess, type LensWay, readByLens } from '../../../chain/call/lens.ts'
import { readLatestBlock } from '../../../chain/evm/read_block.ts'
import type { FinanceClient } from '../../../finance/chain.ts'
import { withPoolPrices } from '../../../finance/price/pool/read_pair_prices.ts'
import { createTokenJudge } from '../../../finance/token/judge.ts'
import { together } from '../../../lib/async/together.ts'
import type { Clock } from '../../../lib/clock.ts'
import { createRecent } from '../../../lib/recent.ts'
import { createPastPlaces, type PastPlaces } from '../../past.ts'
import { placesOf, readingOf } from '../../place.ts'
import { allHeldIn } from '../math/figures.ts'
import { mayChangeWithdrawal, needsWithdrawal } from '../math/hooks.ts'
import type { UniswapV4Deployment } from '../table/deployments.ts'
import { createOwnershipReader, type FindOwnedIds, type OwnershipReader } from './ownership.ts'
import type { BriefPosition, ChainRead, FullPosition, ListedPosition, Position } from './position.ts'
import { deploymentOf, LENS, type OwnedRead, readOwned, readSingle, type UniswapV4Place } from './questions.ts'
import type { Withdrawals } from './withdrawal/withdrawal.ts'
import { executeWithdrawals, withdrawn } from './withdrawn.ts'

/** Most positions of one wallet on one chain. A longer list is refused, not cut. */
const LIST_MAX = 2_000
/** Time for one question to one chain over all its pages and tries. */
const BUDGET_MS = 4_500
/** Withdrawals that one call executes, and for how many wallets it is remembered which they are. */
const HOOKED_MAX = 25
const HOOKED_WALLETS_MAX = 5_000
/** Readings are kept until the next block: at most this many of a chain, at most this many bytes over all chains. */
const CACHE_ENTRIES_MAX = 2_000
const CACHE_BYTES_MAX = 64 * 1024 * 1024
const POSITION_BYTES = 2_048
/** A spam or unreadable position. */
const BRIEF_BYTES = 256

/** A wallet has more positions on one chain than a list may hold. */
export class WalletTooLargeError extends Error {
  override readonly name = 'WalletTooLargeError'
}

/** Reads positions, each chain at one block. */
export interface PositionReader {
  /** Chains that have this family, by id. */
  readonly places: ReadonlyMap<number, UniswapV4Place>
  readonly past: PastPlaces<UniswapV4Deployment>
  readonly ownership: OwnershipReader
  /**
   * All positions of a wallet on the places given, which are asked at the same time. If one place fails, throws
   * `UnavailableError` that names the chain, or the check `ownership`; `PendingError` until it is known which they are;
   * `WalletTooLargeError` if they are more than 2,000 on one chain.
   */
  readWallet(wallet: Address, options: ReadWalletFrom): Promise<Fresh<ChainRead<ListedPosition>>[]>
  /** The positions of one id on the places given, spam included. Throws `UnavailableError`. */
  readOne(tokenId: bigint, options: ReadFrom): Promise<Fresh<ChainRead>[]>
  /**
   * Positions in their order with all that their figures need: prices by pools for tokens that nobody else prices, and
   * executed withdrawals if hooks see them. Fails like `readOne`.
   */
  readFull(positions: readonly Position[], at: ReadAt): Promise<readonly FullPosition[]>
}

/** Where and when positions are read, and until when anyone waits. */
interface ReadFrom {
  readonly places: readonly UniswapV4Place[]
  readonly signal: AbortSignal
}

interface ReadWalletFrom extends ReadFrom {
  /** Executes withdrawals in the same call if hooks are known to see them. @default {false} */
  readonly full?: boolean
}

/** Positions of one chain, and where they were read. */
interface PositionsAt {
  readonly positions: readonly Position[]
  readonly place: UniswapV4Place
  readonly block: Block
  /** Withdrawals that were executed with the reading. */
  readonly known: Withdrawals['byId']
}

const NONE: Withdrawals['byId'] = new Map()

/** The same with the readings. */
interface ReadAt extends ReadFrom {
  readonly reads: readonly Pick<ChainRead<BriefPosition>, 'block' | 'withdrawals'>[]
}

/** Makes a reader over the chains that are configured and have deployments. `ways` narrows the ways of reading. */
export function createPositionReader(options: {
  readonly clients: ReadonlyMap<number, FinanceClient>
  readonly deployments: ReadonlyMap<number, UniswapV4Deployment>
  readonly find: FindOwnedIds
  readonly clock: Clock
  readonly ways?: readonly LensWay[]
}): PositionReader {
  const { clients, find, clock, ways } = options
  const deployments = new Map([...options.deployments].map(([id, each]) => [id, [each]] as const))
  const { judge } = createTokenJudge()
  const ownership = createOwnershipReader(find)
  const limits = { clock, entriesMax: CACHE_ENTRIES_MAX, bytesMax: CACHE_BYTES_MAX / 2, bytesOf }
  const lists = createBlockCache<ChainRead<ListedPosition>>(limits)
  const singles = createBlockCache<ChainRead>(limits)
  /** Positions of wallets whose withdrawals must be executed to be known, as they were last read. */
  const hooked = createRecent<readonly bigint[]>({ entriesMax: HOOKED_WALLETS_MAX })

  function ask<Answer>(
    place: UniswapV4Place,
    read: (lens: LensAccess) => Promise<Answer>,
    signal: AbortSignal,
  ): Promise<Answer> {
    const { client, block: at } = place
    const lens = { ...LENS, chainId: client.chain.id, at, ways, clock, read }
    const limits = { signal, budgetMs: BUDGET_MS, ...readingOf(place) }
    return client.read((endpoint, within) => readByLens(endpoint, lens, within), limits)
  }

  /** The same, with withdrawals of positions that are known to need it, in one call. */
  function askFull(
    place: UniswapV4Place,
    asked: {
      readonly read: (lens: LensAccess) => Promise<OwnedRead>
      readonly seen: readonly bigint[]
      readonly wallet: Address
    },
    signal: AbortSignal,
  ): Promise<OwnedRead> {
    const { client, block: at } = place
    const chainId = client.chain.id
    const question = { owner: asked.wallet, ids: asked.seen, deployment: deploymentOf(place), block: at }
    const lens = { ...LENS, chainId, at, ways, clock, read: asked.read }
    const limits = { signal, budgetMs: BUDGET_MS, ...readingOf(place), together: true }
    return client.read(async (endpoint, within) => {
      const [owned, { block, byId }] = await Promise.all([
        readByLens(endpoint, lens, within),
        executeWithdrawals({ endpoint, chainId, clock }, question, within),
      ])
      if (block !== undefined && !isSameBlock(block, owned.block)) return owned
      return { ...owned, read: { ...owned.read, withdrawals: byId } }
    }, limits)
  }

  function remember(key: string, { positions }: ChainRead<BriefPosition>): void {
    const seen = positions.filter(needsWithdrawal).map(({ tokenId }) => tokenId)
    if (seen.length > 0 && seen.length <= HOOKED_MAX) hooked.set(key, seen)
    else hooked.delete(key)
  }

  async function readList(
    { wallet, full }: { readonly wallet: Address; readonly full: boolean },
    place: UniswapV4Place,
    signal: AbortSignal,
  ): Promise<ChainRead<ListedPosition>> {
    const { client, block } = place
    const asked = { chain: client.chain, deployment: deploymentOf(place), judge, spam: 'apart' } as const
    const key = `${client.chain.id}:${wallet}`
    const { balance, read } = await ownership.readAll(
      { wallet, client, deployment: asked.deployment, positionsMax: LIST_MAX },
      {
        block,
        read: (ids, at) => {
          const there = { ...place, ...(at && { block: at }) }
          const question = { wallet, ids, positionsMax: LIST_MAX }
          const read = (lens: LensAccess) => readOwned(lens, question, asked)
          const seen = full ? hooked.get(key) : undefined
          if (seen === undefined) return ask(there, read, signal)
          return askFull(there, { read, seen, wallet }, signal)
        },
        pin: () =>
          client.read((endpoint, within) => readLatestBlock(endpoint, client.chain.id, within), {
            signal,
            budgetMs: BUDGET_MS,
            ...readingOf(place),
          }),
      },
      signal,
    )
    if (balance <= BigInt(LIST_MAX)) {
      remember(key, read)
      return read
    }
    throw new WalletTooLargeError(
      `Cannot list ${balance} positions on chain ${client.chain.id} (${client.chain.name}): at most ${LIST_MAX} can be ` +
        'listed',
    )
  }

  /** Runs a task for the positions of each chain, at the block that they were read at. */
  function onEach<Answer>(
    positions: readonly Position[],
    { places, reads, signal }: ReadAt,
    task: (here: PositionsAt, signal: AbortSignal) => Promise<Answer>,
  ): Promise<Answer[]> {
    const tasks = reads.flatMap(({ block, withdrawals: known = NONE }) => {
      const here = positions.filter(({ chainId }) => chainId === block.chainId)
      const place = places.find(({ client }) => client.chain.id === block.chainId)
      return place === undefined || here.length === 0
        ? []
        : [(shared: AbortSignal) => task({ positions: here, place, block, known }, shared)]
    })
    return together(tasks, signal)
  }

  async function pricedByPools(positions: readonly Position[], at: ReadAt) {
    const priced = await onEach(positions, at, ({ positions: pairs, place, block }, signal) => {
      const asked = { pairs, amountsOf: allHeldIn, client: place.client, block, reading: readingOf(place) }
      return withPoolPrices(asked, clock, signal)
    })
    return new Map(priced.flat().map((position) => [nameOf(position), position]))
  }

  async function withdrawals(positions: readonly Position[], at: ReadAt) {
    const seen = positions.filter(({ pool }) => mayChangeWithdrawal(pool.hooks))
    const paid = await onEach(seen, at, ({ positions: here, place, block, known }, signal) => {
      const limits = { signal, budgetMs: BUDGET_MS, ...readingOf(place) }
      const where = { block, known, chainId: block.chainId, clock }
      return place.client.read((endpoint, within) => withdrawn(here, { endpoint, ...where }, within), limits)
    })
    return new Map(paid.flatMap((each) => [...each]).map(([position, withdrawal]) => [nameOf(position), withdrawal]))
  }

  return {
    ownership,
    places: placesOf(clients, deployments),
    past: createPastPlaces<UniswapV4Deployment>({
      name: 'Uniswap V4',
      clock,
      contractOf: ({ positionManager }) => positionManager,
      isAskedEarly: true,
    }),
    readWallet(wallet, { places, full = false, signal }) {
      const tasks = places.map((place) => (shared: AbortSignal) => {
        const read = (all: AbortSignal) => readList({ wallet, full }, place, all)
        return lists.reuse({ ...keptAs(`wallet:${wallet.toLowerCase()}:${full}`, place), read }, shared)
      })
      return together(tasks, signal)
    },
    readOne(tokenId, { places, signal }) {
      const tasks = places.map((place) => (shared: AbortSignal) => {
        const asked = { chain: place.client.chain, deployment: deploymentOf(place), judge }
        const read = (all: AbortSignal) => ask(place, (lens) => readSingle(lens, tokenId, asked), all)
        return singles.reuse({ ...keptAs(`one:${tokenId}`, place), read }, shared)
      })
      return together(tasks, signal)
    },
    async readFull(positions, at) {
      const [priced, paid] = await Promise.all([pricedByPools(positions, at), withdrawals(positions, at)])
      return positions.map((position) => ({
        position: priced.get(nameOf(position)) ?? position,
        withdrawal: paid.get(nameOf(position)),
      }))
    },
  }
}

function nameOf({ chainId, tokenId }: Position): string {
  return `${chainId}:${tokenId}`
}

/** Under which chain and key the answer to a question is kept. */
function keptAs(question: string, { client, block }: UniswapV4Place) {
  return { chain: client.chain, key: `uniswap_v4:${block?.hash ?? ''}:${question}` }
}

function bytesOf({ positions, spams, unreadable }: ChainRead<BriefPosition>): number {
  return POSITION_BYTES * (1 + positions.length) + BRIEF_BYTES * (spams.length + unreadable.length)
}

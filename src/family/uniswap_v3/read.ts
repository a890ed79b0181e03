import { type Address, isAddressEqual, zeroAddress } from 'viem'
import { type BlockCache, createBlockCache } from '../../chain/block_cache.ts'
import type { ChainClient, Endpoint } from '../../chain/client.ts'
import { ladderOf, RUNG_NAMES, type Rung, type RungName, readByRung } from '../../chain/lens.ts'
import { priceSourcesOf } from '../../chain/price.ts'
import type { Clock } from '../../lib/clock.ts'
import { UpstreamError } from '../../lib/error.ts'
import { together } from '../../lib/together.ts'
import { type Place as FamilyPlace, placesOf } from '../place.ts'
import type { LensSubject } from './abi.ts'
import type { UniswapV3Deployment } from './deployments.ts'
import { LENS_RUNTIME } from './lens_artifact.ts'
import { type ChainRead, interpret } from './position.ts'
import { type LensSource, readOneByLens, readWalletByLens } from './read_lens.ts'
import { readOneStaged, readWalletStaged } from './read_multicall.ts'
import type { StagedSource } from './read_multicall_entries.ts'
import type { RawRead } from './state.ts'

/** Positions of one wallet on one manager beyond which its list is refused, rather than cut. */
const LIST_MAX = 20_000
/**
 * Positions in one call. 500 take about 14 million gas, where nodes allow 50 million; a deployless call shares its gas
 * with the deployment and runs on the narrowest nodes.
 */
const PAGE_SIZES = { override: 500, deployless: 40 } as const
/** Time for one chain over all its pages and tries. */
const BUDGET_MS = 4_500
/** What was read is kept until the next block: so many lists and positions of a chain, and so many bytes of all. */
const CACHE_ENTRIES_MAX = 2_000
const CACHE_BYTES_MAX = 64 * 1024 * 1024
const POSITION_BYTES = 2_048

/** A wallet has more positions on one manager than a list may hold. */
export class ListTooLongError extends Error {
  override readonly name = 'ListTooLongError'
}

/** Where a chain's positions are read. */
export type Place = FamilyPlace<UniswapV3Deployment>

/** Reads positions, each chain at one block. */
export interface PositionReader {
  /** Chains that have this family, by id. */
  readonly places: ReadonlyMap<number, Place>
  /**
   * All positions of a wallet on the places given, which are asked at the same time. One that fails fails all:
   * `UnavailableError` that names the chain; `ListTooLongError` for a list that no answer can hold.
   */
  readWallet(wallet: Address, options: ReadOptions): Promise<ChainRead[]>
  /** The positions of one id on all managers of the places given, spam not told apart. Fails like `readWallet`. */
  readOne(tokenId: bigint, options: ReadOptions): Promise<ChainRead[]>
}

/** Which chains and managers to ask. */
export interface ReadOptions {
  readonly places: readonly Place[]
  readonly signal: AbortSignal
}

/** Makes a reader over the chains that are configured and have deployments. `rungs` narrows the ways of reading. */
export function createPositionReader(options: {
  readonly clients: ReadonlyMap<number, ChainClient>
  readonly deployments: ReadonlyMap<number, readonly UniswapV3Deployment[]>
  readonly clock: Clock
  readonly rungs?: readonly RungName[]
}): PositionReader {
  const { clients, clock, rungs = RUNG_NAMES } = options
  const places = placesOf(clients, options.deployments)
  const bytesOf = (read: ChainRead): number =>
    POSITION_BYTES * (1 + read.positions.length + read.spams.length + read.unreadable.length)
  const limits = { entriesMax: CACHE_ENTRIES_MAX, bytesMax: CACHE_BYTES_MAX, bytesOf }
  const cache: BlockCache<ChainRead> = createBlockCache<ChainRead>({ clock, ...limits })

  function readPlace(place: Place, question: Question, signal: AbortSignal): Promise<ChainRead> {
    const { client, deployments } = place
    const { chain } = client
    const key = `uniswap_v3:${question.key}:${deployments.map(({ manager }) => manager).join()}`
    const read = (shared: AbortSignal): Promise<ChainRead> =>
      client.read(
        async (endpoint, attemptSignal) => {
          const ladder = ladderFor(question, { place, endpoint, names: rungs })
          const raw = await readByRung(endpoint, { topic: 'uniswap_v3', rungs: ladder, clock }, attemptSignal)
          if (!question.maySilence) checkManagers(raw.managers, deployments)
          return interpret(raw, { chain, deployments, spam: question.spam })
        },
        { signal: shared, budgetMs: BUDGET_MS },
      )
    return cache.reuse({ chain, key, read }, signal)
  }

  function readAll(question: Question, { places, signal }: ReadOptions): Promise<ChainRead[]> {
    return together(
      places.map((place) => (shared: AbortSignal) => readPlace(place, question, shared)),
      signal,
    )
  }

  return {
    places,
    readWallet: (wallet, options) => readAll(walletQuestion(wallet), options),
    readOne: (tokenId, options) => readAll(oneQuestion(tokenId), options),
  }
}

interface Question {
  /** Names what is asked, for sharing answers. */
  readonly key: string
  readonly spam: 'apart' | 'included'
  /** Managers may refuse to answer, and that says nothing about them. */
  readonly maySilence: boolean
  byLens(source: LensSource): Promise<RawRead>
  staged(source: StagedSource, signal: AbortSignal): Promise<RawRead>
}

function walletQuestion(wallet: Address): Question {
  return {
    key: `wallet:${wallet.toLowerCase()}`,
    spam: 'apart',
    // ERC-721: the zero address owns nothing, and `balanceOf` reverts for it.
    maySilence: isAddressEqual(wallet, zeroAddress),
    byLens: (source) => readWalletByLens(source, wallet),
    staged: (source, signal) => readWalletStaged(source, wallet, signal),
  }
}

function oneQuestion(tokenId: bigint): Question {
  return {
    key: `one:${tokenId}`,
    spam: 'included',
    maySilence: false,
    byLens: (source) => readOneByLens(source, tokenId),
    staged: (source, signal) => readOneStaged(source, tokenId, signal),
  }
}

function ladderFor(
  question: Question,
  parts: { readonly place: Place; readonly endpoint: Endpoint; readonly names: readonly RungName[] },
): Rung<RawRead>[] {
  const { place, endpoint, names } = parts
  const { chain } = place.client
  const subject: LensSubject = { deployments: place.deployments, ...priceSourcesOf(chain.prices) }
  const checks = (managers: RawRead['managers']) => checkBalances(managers, { place, maySilence: question.maySilence })
  const shared = { subject, checkBalances: checks }
  return ladderOf({
    names,
    endpoint,
    chainId: chain.id,
    runtime: LENS_RUNTIME,
    byLens: (access, way) =>
      question.byLens({ ...shared, ...access, pageSize: PAGE_SIZES[way], observeBlock: endpoint.observeBlock }),
    staged: (signal) =>
      question.staged({ ...shared, endpoint, chainId: chain.id, multicall3: chain.multicall3 }, signal),
  })
}

/** A manager that does not answer would make a total too small, so the chain does not answer then. */
function checkManagers(managers: RawRead['managers'], deployments: readonly UniswapV3Deployment[]): void {
  const silent = deployments.find((_, index) => managers[index]?.balance === undefined)
  if (silent !== undefined) throw new UpstreamError(`Position manager ${silent.manager} does not answer`)
}

function checkBalances(
  managers: RawRead['managers'],
  { place, maySilence }: { readonly place: Place; readonly maySilence: boolean },
): void {
  const { client, deployments } = place
  if (!maySilence) checkManagers(managers, deployments)
  for (const [index, { balance = 0 }] of managers.entries()) {
    if (balance <= LIST_MAX) continue
    throw new ListTooLongError(
      `Cannot list ${balance} positions on manager ${deployments[index]?.manager} of chain ${client.chain.id}: ` +
        `at most ${LIST_MAX} can be listed`,
    )
  }
}

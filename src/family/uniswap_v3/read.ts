import { type Address, type Hex, isAddressEqual, zeroAddress } from 'viem'
import { type BlockCache, createBlockCache } from '../../chain/block_cache.ts'
import type { ChainClient, Endpoint } from '../../chain/client.ts'
import { callByOverride, callDeployless, type Rung, readByRung } from '../../chain/lens.ts'
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
/** Positions in one call by state override: about 14 million gas, where nodes allow 50 million. */
const OVERRIDE_PAGE = 500
/** Positions in one deployless call, which shares its gas with the deployment and runs on the narrowest nodes. */
const DEPLOYLESS_PAGE = 40
/** Time for one chain over all its pages and tries. */
const BUDGET_MS = 4_500
/** What was read is kept until the next block: so many lists and positions of a chain, and so many bytes of all. */
const CACHE_ENTRIES_MAX = 2_000
const CACHE_BYTES_MAX = 64 * 1024 * 1024
const POSITION_BYTES = 2_048

/** Ways of reading, best first. */
export type RungName = 'override' | 'deployless' | 'staged'

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
  const { clients, clock, rungs = ['override', 'deployless', 'staged'] } = options
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
          const ladder = rungs.map((name) => question.rung({ name, place, endpoint }))
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
  rung(way: { readonly name: RungName; readonly place: Place; readonly endpoint: Endpoint }): Rung<RawRead>
}

function walletQuestion(wallet: Address): Question {
  // ERC-721: the zero address owns nothing, and `balanceOf` reverts for it.
  const maySilence = isAddressEqual(wallet, zeroAddress)
  return {
    key: `wallet:${wallet.toLowerCase()}`,
    spam: 'apart',
    maySilence,
    rung: ({ name, place, endpoint }) => ({
      name,
      run: (signal) =>
        name === 'staged'
          ? readWalletStaged(stagedSource({ place, endpoint, maySilence }), wallet, signal)
          : readWalletByLens(lensSource({ name, place, endpoint, maySilence }, signal), wallet),
    }),
  }
}

function oneQuestion(tokenId: bigint): Question {
  return {
    key: `one:${tokenId}`,
    spam: 'included',
    maySilence: false,
    rung: ({ name, place, endpoint }) => ({
      name,
      run: (signal) =>
        name === 'staged'
          ? readOneStaged(stagedSource({ place, endpoint, maySilence: false }), tokenId, signal)
          : readOneByLens(lensSource({ name, place, endpoint, maySilence: false }, signal), tokenId),
    }),
  }
}

interface StagedWay {
  readonly place: Place
  readonly endpoint: Endpoint
  readonly maySilence: boolean
}

interface LensWay extends StagedWay {
  readonly name: 'override' | 'deployless'
}

function lensSource({ name, place, endpoint, maySilence }: LensWay, signal: AbortSignal): LensSource {
  const call = name === 'override' ? callByOverride : callDeployless
  return {
    subject: subjectOf(place),
    pageSize: name === 'override' ? OVERRIDE_PAGE : DEPLOYLESS_PAGE,
    call: ({ data, block }) => call(endpoint, { runtime: LENS_RUNTIME, data, block }, signal),
    observeBlock: (block) => endpoint.observeBlock(block),
    checkBalances: (managers) => checkBalances(managers, { place, maySilence }),
  }
}

function stagedSource({ place, endpoint, maySilence }: StagedWay): StagedSource {
  return {
    endpoint,
    chainId: place.client.chain.id,
    multicall3: place.client.chain.multicall3,
    subject: subjectOf(place),
    checkBalances: (managers) => checkBalances(managers, { place, maySilence }),
  }
}

function subjectOf({ client, deployments }: Place): LensSubject {
  const { usdFeeds, aaveOracle } = client.chain.prices
  const feeds = Object.entries(usdFeeds) as [Hex, { readonly feed: Hex }][]
  return { deployments, feeds: feeds.map(([token, { feed }]) => ({ token, feed })), aaveOracle }
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

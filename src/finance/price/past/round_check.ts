import type { Address } from 'viem'
import type { Block, PinnedBlock } from '../../../chain/block.ts'
import { type ReturnData, readMulticall } from '../../../chain/call/many/multicall.ts'
import { readLatestBlock } from '../../../chain/evm/read_block.ts'
import type { ChainClient, Endpoint } from '../../../chain/rpc/client.ts'
import { ChainUnavailableError } from '../../../chain/rpc/client.ts'
import { EndpointError } from '../../../chain/rpc/error.ts'
import { type Cache, createCache } from '../../../lib/async/cache.ts'
import type { Work } from '../../../lib/async/work.ts'
import type { Clock } from '../../../lib/clock.ts'
import { UnavailableError } from '../../../lib/error.ts'
import type { FinanceClient } from '../../chain.ts'
import type { DirectAnswers } from '../price.ts'
import { findRoundFault, readSurroundings } from './round_faults.ts'
import {
  type CallContracts,
  createLatestRoundCalls,
  createRoundCall,
  decodeLatestRound,
  decodeRound,
  getPhase,
  type NamedRound,
} from './rounds.ts'

/** A feed's latest round in the state of a block, as claimed by one endpoint. */
export interface ClaimedRound {
  readonly feed: Address
  readonly round: NamedRound
  readonly block: Pick<Block, 'number' | 'timestampSec'>
  /** Why the round says nothing, by what the endpoint told of its bounds and of the sequencer. */
  readonly fault: DirectAnswers['roundFault']
}

/** How the rounds that a feed keeps now compare with a claim; `silent` if it keeps none. */
type RoundVerdict = 'agrees' | 'contradicts' | 'silent'

/** Calls, and results, per claim. */
const CALLS_PER_CLAIM = 4
const BUDGET_MS = 1_500

/** Claims of one endpoint, to be compared. */
interface Claims {
  readonly claims: readonly ClaimedRound[]
  /** Position of the endpoint. */
  readonly claimantIndex: number | undefined
  /** True if no concurrent comparison could share a request with this one. @default {false} */
  readonly isOnlyComparison?: boolean
  readonly clock: Clock
}

/**
 * Compares claimed rounds with the rounds that the feeds keep, read at the newest block from an endpoint other than
 * `claimantIndex`, or from the claimant if no other endpoint answers. Returns the claims that another endpoint
 * confirms: it has the same round, and the same fault of it by its own bounds and sequencer, read at the same time.
 * Throws `ChainUnavailableError` (disputed) if a round contradicts its claim.
 */
export async function compareRounds(
  client: FinanceClient,
  { claims, claimantIndex, isOnlyComparison = false, clock }: Claims,
  work: Work,
): Promise<ReadonlySet<ClaimedRound>> {
  if (claims.length === 0) return new Set()
  const { chain, log } = client

  const createAttempt =
    (mayBeClaimant: boolean) =>
    async (endpoint: Endpoint, within: Work): Promise<readonly RoundVerdict[]> => {
      if (!mayBeClaimant && endpoint.index === claimantIndex)
        throw new EndpointError('pruned', 'The endpoint made the claim itself')
      const blockQuery = isOnlyComparison
        ? { chainId: chain.id }
        : await readSharedNewest(client, { endpoint, clock }, within)
      const calls = claims.flatMap(({ feed, round: { id } }) => [
        ...createLatestRoundCalls(feed),
        ...[createRoundCall(feed, id), createRoundCall(feed, id + 1n)],
      ])
      const { results, block: newest } = await readMulticall(
        endpoint,
        { calls, block: blockQuery, isLight: true, clock },
        within,
      )
      if (claims.some(({ block }) => newest.number < block.number)) {
        throw new EndpointError('pruned', 'The endpoint has not reached the block')
      }
      return claims.map(({ round, block: { timestampSec: timeSec } }, index) =>
        classifyRound({ round, timeSec }, results.slice(index * CALLS_PER_CLAIM, (index + 1) * CALLS_PER_CLAIM)),
      )
    }

  const read = async (mayBeClaimant: boolean): Promise<readonly RoundVerdict[] | undefined> => {
    try {
      // Compare claims about several blocks at the same newest block, so that they share one request.
      return await client.read(createAttempt(mayBeClaimant), { work, budgetMs: BUDGET_MS, isBundled: true })
    } catch (error) {
      if (error instanceof UnavailableError) return undefined
      throw error
    }
  }

  const hasOther = chain.rpcUrls.length > 1
  const [otherVerdicts, sameFaults] = await Promise.all([
    hasOther ? read(false) : undefined,
    hasOther ? selectSameFaults(client, { claims, claimantIndex, clock }, work) : new Set(),
  ])
  const verdicts = otherVerdicts ?? (await read(true)) ?? []
  const contradicted = claims.find((_, index) => verdicts[index] === 'contradicts')
  if (contradicted !== undefined) {
    log.warn({
      msg: "A price feed's rounds contradict an RPC endpoint",
      chainId: chain.id,
      endpoint: (claimantIndex ?? 0) + 1,
    })
    throw new ChainUnavailableError(
      'disputed',
      `Cannot believe feed ${contradicted.feed} at block ${contradicted.block.number} of chain ${chain.id} (${chain.name}): the rounds that ` +
        `it keeps contradict endpoint ${(claimantIndex ?? 0) + 1} (second witness)`,
    )
  }
  return new Set(claims.filter((claim, index) => otherVerdicts?.[index] === 'agrees' && sameFaults.has(claim)))
}

/**
 * Selects the claims whose fault an endpoint other than the claimant finds too, by the bounds and the sequencer's rounds
 * that contracts keep now; none if no other endpoint can read them.
 */
async function selectSameFaults(
  client: FinanceClient,
  { claims, claimantIndex, clock }: Claims,
  work: Work,
): Promise<ReadonlySet<ClaimedRound>> {
  const { sequencerFeed } = client.chain.prices
  const attempt = async (endpoint: Endpoint, within: Work): Promise<readonly boolean[]> => {
    if (endpoint.index === claimantIndex) throw new EndpointError('pruned', 'The endpoint made the claim itself')
    const newest = await readSharedNewest(client, { endpoint, clock }, within)
    if (claims.some(({ block }) => newest.number < block.number))
      throw new EndpointError('pruned', 'The endpoint has not reached the block')
    const callContracts = shareCalls(
      async (calls) => (await readMulticall(endpoint, { calls, block: newest, isLight: true, clock }, within)).results,
    )
    return await Promise.all(
      claims.map(async ({ feed, round, block, fault }) => {
        const asked = { feed, round, sequencerFeed }
        const surroundings = await readSurroundings(asked, block.timestampSec, callContracts)
        if (sequencerFeed !== undefined && surroundings.sequencer === undefined) return false
        return findRoundFault(round, surroundings) === fault
      }),
    )
  }
  try {
    const areSame = await client.read(attempt, { work, budgetMs: BUDGET_MS, isBundled: true })
    return new Set(claims.filter((_, index) => areSame[index]))
  } catch (error) {
    if (error instanceof UnavailableError) return new Set()
    throw error
  }
}

/** Makes the same calls once: claims about one feed differ by their blocks alone. */
function shareCalls(callContracts: CallContracts): CallContracts {
  const made = new Map<string, ReturnType<CallContracts>>()
  return (calls) => {
    const key = calls.map(({ to, data }) => `${to}${data}`).join()
    const results = made.get(key) ?? callContracts(calls)
    made.set(key, results)
    return results
  }
}

/** Running reads of newest blocks, by client and endpoint: concurrent callers share one. */
const latestBlockCaches = new WeakMap<ChainClient, Cache<PinnedBlock>>()
/** Far above the number of endpoints of a chain. */
const ENDPOINTS_MAX = 100

/** Reads an endpoint's newest block; concurrent callers share the request. */
function readSharedNewest(
  client: ChainClient,
  { endpoint, clock }: { readonly endpoint: Endpoint; readonly clock: Clock },
  work: Work,
): Promise<PinnedBlock> {
  const read = async (shared: Work) => {
    return { value: await readLatestBlock(endpoint, client.chain.id, shared), lifeMs: 0 }
  }
  return getLatestBlockCache(client, clock).get({ key: String(endpoint.index), read }, work)
}

function getLatestBlockCache(client: ChainClient, clock: Clock): Cache<PinnedBlock> {
  const cache = latestBlockCaches.get(client) ?? createCache<PinnedBlock>({ clock, entriesMax: ENDPOINTS_MAX })
  latestBlockCaches.set(client, cache)
  return cache
}

/**
 * Classifies a claim by the feed's newest round, its decimals, the claimed round and the next one, as the feed keeps
 * them now. A feed with phases keeps all its rounds; other feeds may return anything for an old round.
 */
export function classifyRound(
  { round, timeSec }: { readonly round: NamedRound; readonly timeSec: bigint },
  [newestAnswer, digits, sameAnswer, nextAnswer]: readonly ReturnData[],
): RoundVerdict {
  const newest = decodeLatestRound(newestAnswer, digits)
  if (newest === undefined) return 'silent'
  const isPhased = getPhase(newest.id) > 0n
  // Decimals may differ between phases.
  const isSamePhase = getPhase(newest.id) === getPhase(round.id)
  if (isSamePhase && newest.decimals !== round.decimals) return 'contradicts'
  const stored = newest.id === round.id ? newest : decodeRound(sameAnswer)
  const isStored = stored !== undefined && stored.updatedAtSec > 0n
  if (!isStored || stored.updatedAtSec > timeSec) return isPhased ? 'contradicts' : 'silent'
  if (stored.answer !== round.answer || stored.updatedAtSec !== round.updatedAtSec) return 'contradicts'
  const next = newest.id === round.id ? undefined : decodeRound(nextAnswer)
  // A later block may have the same timestamp.
  const isOver = next !== undefined && next.updatedAtSec > 0n && next.updatedAtSec < timeSec
  return isOver ? 'contradicts' : 'agrees'
}

import type { Address } from 'viem'
import type { Block, PinnedBlock } from '../../../chain/block.ts'
import { type ReturnData, readMulticall } from '../../../chain/call/many/multicall.ts'
import { readLatestBlock } from '../../../chain/evm/read_block.ts'
import { DisputeError } from '../../../chain/past/quorum.ts'
import type { ChainClient, Endpoint } from '../../../chain/rpc/client.ts'
import { EndpointPrunedError } from '../../../chain/rpc/error.ts'
import { type Cache, createCache } from '../../../lib/async/cache.ts'
import type { Clock } from '../../../lib/clock.ts'
import { UnavailableError } from '../../../lib/error.ts'
import {
  createLatestRoundCalls,
  createRoundCall,
  decodeLatestRound,
  decodeRound,
  getPhase,
  type NamedRound,
} from './rounds.ts'

/** A round that was the latest one of a feed in the state of a block, as one endpoint says. */
export interface ClaimedRound {
  readonly feed: Address
  readonly round: NamedRound
  readonly block: Pick<Block, 'number' | 'timestampSec'>
}

/** What the feed's rounds, as they are kept now, say about the claim: nothing if it keeps none. */
type RoundVerdict = 'agrees' | 'contradicts' | 'silent'

/** Questions of one claim, and as many answers. */
const QUESTIONS = 4
const BUDGET_MS = 1_500

/** Claims of one endpoint. */
interface Claims {
  readonly claims: readonly ClaimedRound[]
  /** Its position. */
  readonly claimant: number | undefined
  /** True if no others are compared at the same time, which could share a request with these. @default {false} */
  readonly areAll?: boolean
  readonly clock: Clock
}

/**
 * Compares such rounds with the rounds that the feeds keep, read at the newest block by an endpoint other than
 * `claimant`, or by the claimant itself if no other one answers. Returns the claims that agree with what another endpoint
 * tells. Throws `DisputeError` if a round contradicts its claim.
 */
export async function compareRounds(
  client: ChainClient,
  { claims, claimant, areAll = false, clock }: Claims,
  signal: AbortSignal,
): Promise<ReadonlySet<ClaimedRound>> {
  if (claims.length === 0) return new Set()
  const { chain, log } = client

  const attempt =
    (mayBeClaimant: boolean) =>
    async (endpoint: Endpoint, within: AbortSignal): Promise<readonly RoundVerdict[]> => {
      if (!mayBeClaimant && endpoint.index === claimant) throw new EndpointPrunedError('The endpoint said it itself')
      const asked = areAll
        ? { chainId: chain.id }
        : await newestOf(client, clock).get({ key: String(endpoint.index), read: readNewest(endpoint) }, within)
      const calls = claims.flatMap(({ feed, round: { id } }) => [
        ...createLatestRoundCalls(feed),
        ...[createRoundCall(feed, id), createRoundCall(feed, id + 1n)],
      ])
      const { results, block: newest } = await readMulticall(
        endpoint,
        { calls, block: asked, isLight: true, clock },
        within,
      )
      if (claims.some(({ block }) => newest.number < block.number)) {
        throw new EndpointPrunedError('The endpoint has not reached the block')
      }
      return claims.map(({ round, block: { timestampSec: timeSec } }, index) =>
        classifyRound({ round, timeSec }, results.slice(index * QUESTIONS, (index + 1) * QUESTIONS)),
      )
    }

  const readNewest = (endpoint: Endpoint) => async (shared: AbortSignal) => {
    return { value: await readLatestBlock(endpoint, chain.id, shared), lifeMs: 0 }
  }

  const read = async (mayBeClaimant: boolean): Promise<readonly RoundVerdict[] | undefined> => {
    try {
      // Claims about several blocks are compared at the same newest one, and leave in one request.
      return await client.read(attempt(mayBeClaimant), { signal, budgetMs: BUDGET_MS, together: true })
    } catch (error) {
      if (error instanceof UnavailableError) return undefined
      throw error
    }
  }

  const others = chain.rpcUrls.length > 1 ? await read(false) : undefined
  const verdicts = others ?? (await read(true)) ?? []
  const wrong = claims.find((_, index) => verdicts[index] === 'contradicts')
  if (wrong !== undefined) {
    log.warn({ msg: 'Rounds of a feed contradicted an RPC endpoint', chainId: chain.id, endpoint: (claimant ?? 0) + 1 })
    throw new DisputeError(
      `Cannot believe feed ${wrong.feed} at block ${wrong.block.number} of chain ${chain.id} (${chain.name}): the rounds that ` +
        `it keeps contradict endpoint ${(claimant ?? 0) + 1} (second witness)`,
    )
  }
  return new Set(claims.filter((_, index) => others?.[index] === 'agrees'))
}

/** Newest blocks that are being read, by client and endpoint: whoever asks meanwhile is given the same one. */
const newest = new WeakMap<ChainClient, Cache<PinnedBlock>>()
/** Far more than a chain has endpoints. */
const ENDPOINTS_MAX = 100

function newestOf(client: ChainClient, clock: Clock): Cache<PinnedBlock> {
  const known = newest.get(client) ?? createCache<PinnedBlock>({ clock, entriesMax: ENDPOINTS_MAX })
  newest.set(client, known)
  return known
}

/**
 * Judges a claim by the feed's newest round, its decimals, the claimed round and the one after it, as they are kept now.
 * A feed with phases keeps all its rounds; others may answer anything for an old one.
 */
export function classifyRound(
  { round, timeSec }: { readonly round: NamedRound; readonly timeSec: bigint },
  [newestAnswer, digits, sameAnswer, nextAnswer]: readonly ReturnData[],
): RoundVerdict {
  const newest = decodeLatestRound(newestAnswer, digits)
  if (newest === undefined) return 'silent'
  const isPhased = getPhase(newest.id) > 0n
  // Another phase may count in other decimals.
  const isSamePhase = getPhase(newest.id) === getPhase(round.id)
  if (isSamePhase && newest.decimals !== round.decimals) return 'contradicts'
  const kept = newest.id === round.id ? newest : decodeRound(sameAnswer)
  const isKept = kept !== undefined && kept.updatedAtSec > 0n
  if (!isKept || kept.updatedAtSec > timeSec) return isPhased ? 'contradicts' : 'silent'
  if (kept.answer !== round.answer || kept.updatedAtSec !== round.updatedAtSec) return 'contradicts'
  const next = newest.id === round.id ? undefined : decodeRound(nextAnswer)
  // A later block may have the time of this one.
  const isOver = next !== undefined && next.updatedAtSec > 0n && next.updatedAtSec < timeSec
  return isOver ? 'contradicts' : 'agrees'
}

import type { Address } from 'viem'
import type { Block, PinnedBlock } from '../../../chain/block.ts'
import { readMulticall } from '../../../chain/call/many/multicall.ts'
import { tryDecodeAddress } from '../../../chain/call/words.ts'
import { readLatestBlock } from '../../../chain/evm/read_block.ts'
import { DisputeError, QUORUM, readByQuorum } from '../../../chain/past/quorum.ts'
import { EndpointsTimedOutError } from '../../../chain/rpc/client.ts'
import type { Clock } from '../../../lib/clock.ts'
import { UnavailableError } from '../../../lib/error.ts'
import type { FinanceClient } from '../../chain.ts'
import type { FeedRound } from '../price.ts'
import { type ClaimedRound, compareRounds } from './round_check.ts'
import { type CallContracts, readRoundAt } from './rounds.ts'
import {
  createSourceCall,
  type EndpointPriceClaim,
  noResultBecause,
  type PriceResult,
  type PriceSource,
  readMarketPrices,
  readSourcePrices,
  toPriceResult,
} from './sources.ts'

/** A past or present block. Its hash is needed while it may still be replaced. */
export type PriceBlock = Pick<Block, 'number' | 'timestampSec'> & Partial<Pick<PinnedBlock, 'hash'>>

/** A price at a block or the reason why it is missing, and how many endpoints say so: 0 if none of them could tell. */
export type HistoricalPriceOutcome = PriceResult & { readonly witnesses: number }

/** Which prices to read in the state of a block. */
interface StateQuestion {
  readonly asker: PriceSource
  /** Checksummed. */
  readonly tokens: readonly Address[]
  readonly block: PriceBlock
  readonly clock: Clock
}

/** Which prices to read. */
interface PricesAtQuestion extends StateQuestion {
  /**
   * True if the prices are kept for ever: what one endpoint alone says is then compared with the rounds of feeds.
   * @default {true}
   */
  readonly isKept?: boolean
}

/** What the state of a block says about prices, by token, and the endpoints that say so, by their positions. */
export interface StatePrices {
  readonly said: ReadonlyMap<Address, EndpointPriceClaim>
  readonly endpoints: readonly number[]
}

const BUDGET_MS = 3_000

/**
 * Prices of tokens at one block, by token: what the live routes would have said then, by the same sources. Two endpoints
 * are asked at the same time. If one alone keeps the state of the block, a feed's round is compared with those that the
 * feed keeps now. If none does, the rounds that Chainlink feeds keep are searched. Throws `DisputeError` if endpoints
 * contradict each other or a feed's rounds, `EndpointsTimedOutError` if endpoints that may keep the state were late and no round
 * tells, `UnavailableError` if the chain cannot be read at all.
 */
export async function readPricesAt(
  client: FinanceClient,
  question: PricesAtQuestion,
  signal: AbortSignal,
): Promise<ReadonlyMap<Address, HistoricalPriceOutcome>> {
  const { isKept = true, clock } = question
  try {
    const found = await readStatePrices(client, question, signal)
    const claims = isKept ? listUnconfirmedClaims(found) : []
    const agreed = await compareRounds(client, { claims, claimant: found.endpoints[0], clock }, signal)
    return toPriceOutcomes(found, agreed)
  } catch (error) {
    if (!(error instanceof UnavailableError) || error instanceof DisputeError) throw error
    if (!(error instanceof EndpointsTimedOutError)) return await readRounds(client, question, signal)
    const outcomes = await readRounds(client, question, signal).catch((reason: unknown) => {
      throw reason instanceof UnavailableError && !(reason instanceof DisputeError) ? error : reason
    })
    // One that keeps the state was late: nothing is known to be missing.
    if ([...outcomes.values()].some(({ kind, witnesses }) => kind === 'missing' && witnesses === 0)) throw error
    return outcomes
  }
}

/**
 * The same of state alone, before it is compared with any rounds. Leaves in one request with what is begun about the block
 * in the same turn of the event loop. Throws `DisputeError` if endpoints contradict each other, else as `readByQuorum`.
 */
export async function readStatePrices(
  client: FinanceClient,
  { asker, tokens, block, clock }: StateQuestion,
  signal: AbortSignal,
): Promise<StatePrices> {
  const { chain } = client
  const at = { chainId: chain.id, ...block }
  const { value, endpoints } = await readByQuorum(
    client,
    async (endpoint, within) => {
      let timestampSec = block.timestampSec
      const ask: CallContracts = async (calls) => {
        const { results, block: seen } = await readMulticall(
          endpoint,
          { calls, block: at, isLight: true, clock },
          within,
        )
        timestampSec = seen.timestampSec
        return results
      }
      const said = await (asker.kind === 'aave_market'
        ? readMarketPrices(asker, tokens, ask)
        : readSourcePrices(client, { tokens, block }, ask))
      return { timestampSec, said: new Map(said) }
    },
    {
      signal,
      budgetMs: BUDGET_MS,
      past: block,
      together: true,
      what: whatAt(block),
      textOf: ({ timestampSec, said }) => `${timestampSec} ${textOf(said)}`,
    },
  )
  if (value.timestampSec !== block.timestampSec) {
    throw new DisputeError(
      `Cannot believe the time of block ${block.number} of chain ${chain.id} (${chain.name}): it is ` +
        `${value.timestampSec} by its state, and ${block.timestampSec} by its header or its logs (block time)`,
    )
  }
  return { said: value.said, endpoints }
}

/** Rounds that one endpoint alone gave. */
export function listUnconfirmedClaims({ said, endpoints }: StatePrices): readonly ClaimedRound[] {
  return endpoints.length < QUORUM ? [...said.values()].flatMap(({ claim }) => claim ?? []) : []
}

/** The same with how many say so; rounds that the feeds keep are another one's word. */
export function toPriceOutcomes(
  { said, endpoints }: StatePrices,
  agreed: ReadonlySet<ClaimedRound>,
): ReadonlyMap<Address, HistoricalPriceOutcome> {
  return new Map(
    [...said].map(([token, { outcome, claim }]) => {
      const isAgreed = claim !== undefined && agreed.has(claim)
      return [token, { ...outcome, witnesses: isAgreed ? endpoints.length + 1 : endpoints.length }]
    }),
  )
}

function whatAt({ number }: PriceBlock): string {
  return `the prices at block ${number}`
}

/** The same text for the same prices. */
function textOf(said: ReadonlyMap<Address, EndpointPriceClaim>): string {
  const texts = [...said.values()].map(({ outcome }) => {
    if (outcome.kind === 'missing') return outcome.because
    const { units, scale, source } = outcome.price
    return `${units} ${scale} ${source}`
  })
  return texts.join()
}

/** Prices by the rounds that feeds keep, read at the newest block. */
async function readRounds(
  client: FinanceClient,
  { asker, tokens, block, clock }: PricesAtQuestion,
  signal: AbortSignal,
): Promise<ReadonlyMap<Address, HistoricalPriceOutcome>> {
  const { chain } = client
  const { value, endpoints } = await readByQuorum(
    client,
    async (endpoint, within) => {
      const newest = await readLatestBlock(endpoint, chain.id, within)
      const ask: CallContracts = async (calls) =>
        (await readMulticall(endpoint, { calls, block: newest, clock }, within)).results
      const said = tokens.map(async (token): Promise<[Address, EndpointPriceClaim]> => {
        for (const feed of await feedsOf(client, { asker, token }, ask)) {
          const round = await readRoundAt(feed, block.timestampSec, ask)
          if (round !== undefined) return [token, { outcome: roundOutcome(client, { token, feed, round, block }) }]
        }
        const outcome = withoutRounds(client, { asker, token, block })
        return [token, { outcome, isUnknown: outcome.kind === 'missing' }]
      })
      return new Map(await Promise.all(said))
    },
    { signal, budgetMs: BUDGET_MS, what: whatAt(block), textOf },
  )
  const witnesses = endpoints.length
  return new Map(
    [...value].map(([token, said]) => [token, { ...said.outcome, witnesses: said.isUnknown ? 0 : witnesses }]),
  )
}

/** The feeds whose rounds may tell a token's price: the one that its oracle asks today, or that is configured. */
async function feedsOf(
  { chain: { prices } }: FinanceClient,
  { asker, token }: { readonly asker: PriceSource; readonly token: Address },
  ask: CallContracts,
): Promise<Address[]> {
  const own = prices.usdFeeds[token]?.feed
  if (asker.kind === 'chain' && own !== undefined) return [own]
  const oracle = asker.kind === 'chain' ? prices.aaveOracle : asker.oracle
  const asked = oracle === undefined ? undefined : tryDecodeAddress((await ask([createSourceCall(oracle, token)]))[0])
  return [asked, own].filter((feed) => feed !== undefined)
}

/** A feed that configuration names must have been fresh; an oracle takes whatever its feed says. */
function roundOutcome(
  client: FinanceClient,
  found: { readonly token: Address; readonly feed: Address; readonly round: FeedRound; readonly block: PriceBlock },
): PriceResult {
  const { token, feed, round, block } = found
  if (client.chain.prices.usdFeeds[token]?.feed === feed) {
    const answers = { round, aave: undefined }
    return toPriceResult(client, token, { answers, blockTimestampSec: block.timestampSec }, 'round')
  }
  if (round.answer <= 0n) return noResultBecause('its price feed answered nothing above zero')
  return { kind: 'price', price: { units: round.answer, scale: round.decimals, source: 'feed' }, evidence: 'round' }
}

/** The dollar of a stablecoin that has no feed and no oracle needs no past. */
function withoutRounds(
  client: FinanceClient,
  { asker, token, block }: { readonly asker: PriceSource; readonly token: Address; readonly block: PriceBlock },
): PriceResult {
  const { usdFeeds, aaveOracle, stablecoins } = client.chain.prices
  const hasNoSource = asker.kind === 'chain' && usdFeeds[token] === undefined && aaveOracle === undefined
  if (hasNoSource && stablecoins.includes(token)) {
    const answers = { round: undefined, aave: undefined }
    return toPriceResult(client, token, { answers, blockTimestampSec: block.timestampSec }, 'state')
  }
  return noResultBecause(`no endpoint keeps the state of block ${block.number}, and no feed of it keeps rounds so old`)
}

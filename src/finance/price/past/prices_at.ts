import type { Address } from 'viem'
import type { Block, PinnedBlock } from '../../../chain/block.ts'
import { readMulticall } from '../../../chain/call/many/multicall.ts'
import { tryDecodeAddress } from '../../../chain/call/words.ts'
import { readLatestBlock } from '../../../chain/evm/read_block.ts'
import { QUORUM, readByQuorum } from '../../../chain/past/quorum.ts'
import { ChainUnavailableError, isUnavailable } from '../../../chain/rpc/client.ts'
import type { Work } from '../../../lib/async/work.ts'
import type { Clock } from '../../../lib/clock.ts'
import { UnavailableError } from '../../../lib/error.ts'
import type { FinanceClient } from '../../chain.ts'
import type { DirectAnswers, FeedRound } from '../price.ts'
import { toDatedClient } from './dated_client.ts'
import { type ClaimedRound, compareRounds } from './round_check.ts'
import { findRoundFault, readSurroundings } from './round_faults.ts'
import { type CallContracts, type NamedRound, readRoundAt } from './rounds.ts'
import {
  createBaseCalls,
  createReserveSourceCall,
  createSourceCall,
  type EndpointPriceClaim,
  noResultBecause,
  type PriceResult,
  type PriceSource,
  readMarketPrices,
  readReservePrice,
  readSourcePrices,
  toBaseScale,
  toPriceResult,
} from './sources.ts'

/** A past or present block; the hash is required while the block may still be replaced. */
export type PriceBlock = Pick<Block, 'number' | 'timestampSec'> & Partial<Pick<PinnedBlock, 'hash'>>

/** A price at a block, or why it is missing, and the number of endpoints that agree: 0 if no endpoint could decide. */
export type HistoricalPriceOutcome = PriceResult & { readonly witnesses: number }

/** Which prices to read in the state of a block. */
interface StatePricesQuery {
  readonly source: PriceSource
  /** Checksummed. */
  readonly tokens: readonly Address[]
  readonly block: PriceBlock
  readonly clock: Clock
}

/** Which prices to read. */
interface PricesAtQuery extends StatePricesQuery {
  /**
   * True if the prices are stored permanently: claims of a single endpoint are then compared with the rounds of feeds.
   * @default {true}
   */
  readonly isStored?: boolean
}

/** Prices by token from the state of a block, and the positions of the endpoints that agree on them. */
export interface StatePrices {
  readonly claims: ReadonlyMap<Address, EndpointPriceClaim>
  readonly endpoints: readonly number[]
}

const BUDGET_MS = 3_000

/**
 * Reads prices of tokens at one block, by token, from the sources that live routes use. Reads two endpoints
 * concurrently. If only one has the state of the block, compares its feed rounds with the rounds that the feeds keep
 * now. If none has it, searches the rounds that Chainlink feeds keep. Throws `ChainUnavailableError` (disputed) if
 * endpoints contradict each other or a feed's rounds, `ChainUnavailableError` (late) if endpoints that may have the
 * state timed out and no round decides, `UnavailableError` if the chain cannot be read at all.
 */
export async function readPricesAt(
  liveClient: FinanceClient,
  query: PricesAtQuery,
  work: Work,
): Promise<ReadonlyMap<Address, HistoricalPriceOutcome>> {
  const client = toDatedClient(liveClient)
  const { isStored = true, clock } = query
  try {
    const statePrices = await readStatePrices(client, query, work)
    const claims = isStored ? listUnconfirmedClaims(statePrices) : []
    const confirmed = await compareRounds(client, { claims, claimantIndex: statePrices.endpoints[0], clock }, work)
    return toPriceOutcomes(statePrices, confirmed)
  } catch (error) {
    if (!(error instanceof UnavailableError) || isUnavailable(error, 'disputed')) throw error
    if (!isUnavailable(error, 'late')) return await readRounds(client, query, work)
    const outcomes = await readRounds(client, query, work).catch((reason: unknown) => {
      throw reason instanceof UnavailableError && !isUnavailable(reason, 'disputed') ? error : reason
    })
    // An archive endpoint timed out, so a missing price is not proven.
    if ([...outcomes.values()].some(({ kind, witnesses }) => kind === 'missing' && witnesses === 0)) throw error
    return outcomes
  }
}

/**
 * Reads prices from the state of a block, not yet compared with any rounds. Shares one request with other reads of the
 * block in the same event-loop turn. Throws `ChainUnavailableError` (disputed) if endpoints contradict each other, else
 * like `readByQuorum`.
 */
export async function readStatePrices(
  liveClient: FinanceClient,
  { source, tokens, block, clock }: StatePricesQuery,
  work: Work,
): Promise<StatePrices> {
  const client = toDatedClient(liveClient)
  const { chain } = client
  const blockQuery = { chainId: chain.id, ...block }
  const { value, endpoints } = await readByQuorum(
    client,
    async (endpoint, within) => {
      let timestampSec = block.timestampSec
      const callContracts: CallContracts = async (calls) => {
        const { results, block: seen } = await readMulticall(
          endpoint,
          { calls, block: blockQuery, isLight: true, clock },
          within,
        )
        timestampSec = seen.timestampSec
        return results
      }
      const readClaims = () => {
        if (source.kind === 'aave_market') return readMarketPrices(source, tokens, callContracts)
        if (source.kind === 'aave_reserve') return readReservePrice(source, tokens, callContracts)
        return readSourcePrices(client, { tokens, block }, callContracts)
      }
      const claims = await readClaims()
      return { timestampSec, claims: new Map(claims) }
    },
    {
      work,
      budgetMs: BUDGET_MS,
      past: block,
      isBundled: true,
      what: formatSubject(block),
      toText: ({ timestampSec, claims }) => `${timestampSec} ${toText(claims)}`,
    },
  )
  if (value.timestampSec !== block.timestampSec) {
    throw new ChainUnavailableError(
      'disputed',
      `Cannot believe the time of block ${block.number} of chain ${chain.id} (${chain.name}): it is ` +
        `${value.timestampSec} by its state, and ${block.timestampSec} by its header or its logs (block time)`,
    )
  }
  return { claims: value.claims, endpoints }
}

/** Lists the feed rounds that came from a single endpoint. */
export function listUnconfirmedClaims({ claims, endpoints }: StatePrices): readonly ClaimedRound[] {
  return endpoints.length < QUORUM ? [...claims.values()].flatMap(({ claim }) => claim ?? []) : []
}

/** Adds the witness count; another endpoint's same feed round, with the same fault, counts as a second witness. */
export function toPriceOutcomes(
  { claims, endpoints }: StatePrices,
  confirmed: ReadonlySet<ClaimedRound>,
): ReadonlyMap<Address, HistoricalPriceOutcome> {
  return new Map(
    [...claims].map(([token, { outcome, claim }]) => {
      const isConfirmed = claim !== undefined && confirmed.has(claim)
      return [token, { ...outcome, witnesses: isConfirmed ? endpoints.length + 1 : endpoints.length }]
    }),
  )
}

function formatSubject({ number }: PriceBlock): string {
  return `the prices at block ${number}`
}

/** Formats prices for comparison: equal prices give equal text. */
function toText(claims: ReadonlyMap<Address, EndpointPriceClaim>): string {
  const texts = [...claims.values()].map(({ outcome }) => {
    if (outcome.kind === 'missing') return outcome.because
    const { units, scale, source } = outcome.price
    return `${units} ${scale} ${source}`
  })
  return texts.join()
}

/** Reads prices from the rounds that feeds keep, at the newest block. */
async function readRounds(
  client: FinanceClient,
  { source, tokens, block, clock }: PricesAtQuery,
  work: Work,
): Promise<ReadonlyMap<Address, HistoricalPriceOutcome>> {
  const { chain } = client
  const { value, endpoints } = await readByQuorum(
    client,
    async (endpoint, within) => {
      const newest = await readLatestBlock(endpoint, chain.id, within)
      const callContracts: CallContracts = async (calls) =>
        (await readMulticall(endpoint, { calls, block: newest, clock }, within)).results
      const claims = tokens.map(async (token): Promise<[Address, EndpointPriceClaim]> => {
        for (const { feed, isOracles } of await listFeeds(client, { source, token }, callContracts)) {
          const round = await readRoundAt(feed, block.timestampSec, callContracts)
          if (round === undefined) continue
          if (isOracles) return [token, { outcome: toOracleResult(round) }]
          const roundFault = await readRoundFault(client, { feed, round, block }, callContracts)
          const answers = { round, roundFault, aave: undefined }
          const input = { answers, blockTimestampSec: block.timestampSec }
          return [token, { outcome: toPriceResult(client, token, input, 'round') }]
        }
        const outcome = toResultWithoutRounds(client, { source, token, block })
        return [token, { outcome, isUnknown: outcome.kind === 'missing' }]
      })
      return new Map(await Promise.all(claims))
    },
    { work, budgetMs: BUDGET_MS, what: formatSubject(block), toText },
  )
  const witnesses = endpoints.length
  return new Map(
    [...value].map(([token, result]) => [token, { ...result.outcome, witnesses: result.isUnknown ? 0 : witnesses }]),
  )
}

/** A feed whose rounds may price a token. */
interface PricingFeed {
  readonly feed: Address
  /** True if the token's oracle reads it: the oracle accepts any answer. A configured feed is believed by a rule. */
  readonly isOracles: boolean
}

/** Lists the feeds whose rounds may price a token: the one that its oracle reads today, and the configured one. */
async function listFeeds(
  { chain: { prices } }: FinanceClient,
  { source, token }: { readonly source: PriceSource; readonly token: Address },
  callContracts: CallContracts,
): Promise<PricingFeed[]> {
  const configured = prices.usdFeeds[token]?.feed
  const own = configured === undefined ? [] : [{ feed: configured, isOracles: false }]
  if (source.kind === 'chain' && configured !== undefined) return own
  if (source.kind === 'aave_reserve') {
    const reserveFeed = tryDecodeAddress((await callContracts([createReserveSourceCall(source)]))[0])
    return reserveFeed === undefined ? own : [{ feed: reserveFeed, isOracles: true }, ...own]
  }
  const oracle = source.kind === 'chain' ? prices.aaveOracle : source.oracle
  if (oracle === undefined) return own
  const [feed, ...base] = await callContracts([createSourceCall(oracle, token), ...createBaseCalls(oracle)])
  // The feeds of an oracle answer in its currency.
  const oracleFeed = toBaseScale(base) === undefined ? undefined : tryDecodeAddress(feed)
  return oracleFeed === undefined ? own : [{ feed: oracleFeed, isOracles: true }, ...own]
}

/** Reads why the round of a configured feed says nothing. */
async function readRoundFault(
  { chain: { prices } }: FinanceClient,
  { feed, round, block }: { readonly feed: Address; readonly round: NamedRound; readonly block: PriceBlock },
  callContracts: CallContracts,
): Promise<DirectAnswers['roundFault']> {
  const { sequencerFeed } = prices
  const surroundings = await readSurroundings({ feed, round, sequencerFeed }, block.timestampSec, callContracts)
  return findRoundFault(round, surroundings)
}

/** Converts the round of an oracle's feed to a result: of any age, and whatever its bounds or the sequencer. */
function toOracleResult({ answer, decimals }: FeedRound): PriceResult {
  if (answer <= 0n) return noResultBecause('its price feed answered nothing above zero')
  return { kind: 'price', price: { units: answer, scale: decimals, source: 'feed' }, evidence: 'round' }
}

/** Returns the result without any round: one dollar for a stablecoin without feed and oracle, else a missing price. */
function toResultWithoutRounds(
  client: FinanceClient,
  { source, token, block }: { readonly source: PriceSource; readonly token: Address; readonly block: PriceBlock },
): PriceResult {
  const { usdFeeds, aaveOracle, stablecoins } = client.chain.prices
  const hasNoSource = source.kind === 'chain' && usdFeeds[token] === undefined && aaveOracle === undefined
  if (hasNoSource && stablecoins.includes(token)) {
    const answers = { round: undefined, aave: undefined }
    return toPriceResult(client, token, { answers, blockTimestampSec: block.timestampSec }, 'state')
  }
  return noResultBecause(`no endpoint keeps the state of block ${block.number}, and no feed of it keeps rounds so old`)
}

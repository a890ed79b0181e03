import { type Address, encodeFunctionData, parseAbi } from 'viem'
import type { Clock } from '../../lib/clock.ts'
import { UnavailableError } from '../../lib/error.ts'
import type { Block, PinnedBlock } from '../block.ts'
import { type Answer, type Question, readCalls } from '../call/many/read_calls.ts'
import { addressIn, uintIn } from '../call/words.ts'
import { type FeedRound, missing, type UsdAnswers, type UsdPrice, usdPriceOf } from '../price.ts'
import { readLatestBlock } from '../read_block.ts'
import type { ChainClient } from '../rpc/client.ts'
import { type Ask, latestRoundOf, latestRoundQuestions, readRoundAt } from './rounds.ts'

/**
 * Who is asked for prices: the sources that configuration names for the chain's tokens, or the oracle of one market of
 * Aave.
 */
export type PriceAsker = { readonly kind: 'chain' } | MarketAsker

interface MarketAsker {
  readonly kind: 'aave_market'
  readonly provider: Address
  /** The oracle that it has now: where it had the same one before, one call is enough. */
  readonly oracle: Address
}

/** A past or present block. Its hash is needed while it may still be replaced. */
export type PriceBlock = Pick<Block, 'number' | 'timestampSec'> & Partial<Pick<PinnedBlock, 'hash'>>

/** Where a past price was found: in the state of the block, or among the rounds that a feed keeps. */
type PriceEvidence = 'state' | 'round'

/** A price at a block, or the reason why it is missing, in words that follow "because". */
export type PriceAtOutcome =
  | { readonly kind: 'price'; readonly price: UsdPrice; readonly evidence: PriceEvidence }
  | { readonly kind: 'missing'; readonly because: string }

/** Which prices to read. */
interface PricesAtQuestion {
  readonly asker: PriceAsker
  /** Checksummed. */
  readonly tokens: readonly Address[]
  readonly block: PriceBlock
  readonly clock: Clock
}

const ABI = parseAbi([
  'function getPriceOracle() view returns (address)',
  'function BASE_CURRENCY() view returns (address)',
  'function BASE_CURRENCY_UNIT() view returns (uint256)',
  'function getAssetPrice(address asset) view returns (uint256)',
  'function getSourceOfAsset(address asset) view returns (address)',
])
const BUDGET_MS = 3_000

/**
 * Prices of tokens at one block, by token: what the live routes would have said then, by the same sources. If no
 * endpoint keeps the state of the block, the rounds that Chainlink feeds keep are searched. Throws `UnavailableError`
 * if the chain cannot be read at all.
 */
export async function readPricesAt(
  client: ChainClient,
  question: PricesAtQuestion,
  signal: AbortSignal,
): Promise<ReadonlyMap<Address, PriceAtOutcome>> {
  try {
    return await readState(client, question, signal)
  } catch (error) {
    if (!(error instanceof UnavailableError)) throw error
    return await readRounds(client, question, signal)
  }
}

async function readState(
  client: ChainClient,
  { asker, tokens, block, clock }: PricesAtQuestion,
  signal: AbortSignal,
): Promise<ReadonlyMap<Address, PriceAtOutcome>> {
  const at = { chainId: client.chain.id, ...block }
  return client.read(
    async (endpoint, within) => {
      const ask: Ask = async (questions) => (await readCalls(endpoint, { questions, block: at, clock }, within)).answers
      const outcomes =
        asker.kind === 'aave_market'
          ? await askMarket(asker, tokens, ask)
          : await askSources(client, { tokens, timestampSec: block.timestampSec }, ask)
      return new Map(outcomes)
    },
    { signal, budgetMs: BUDGET_MS, past: block },
  )
}

/** Prices by a market's oracle, as the market itself takes them. */
async function askMarket(
  { provider, oracle }: MarketAsker,
  tokens: readonly Address[],
  ask: Ask,
): Promise<[Address, PriceAtOutcome][]> {
  const [found, ...answers] = await ask([oracleQuestion(provider), ...oracleQuestions(oracle, tokens)])
  const then = addressIn(found)
  const none = (because: string) => tokens.map((token): [Address, PriceAtOutcome] => [token, missing(because)])
  if (then === undefined) return none('its market had no oracle')
  const [base, unit, ...prices] = then === oracle ? answers : await ask(oracleQuestions(then, tokens))
  const scale = scaleOf(uintIn(unit))
  if (uintIn(base) !== 0n || scale === undefined) return none("its market's oracle did not count in US dollars")
  return tokens.map((token, index) => {
    const units = uintIn(prices[index]) ?? 0n
    if (units === 0n) return [token, missing("its market's oracle had no price for it")]
    return [token, { kind: 'price', price: { units, scale, source: 'aave_oracle' }, evidence: 'state' }]
  })
}

/** Prices by the sources that configuration names. */
async function askSources(
  client: ChainClient,
  { tokens, timestampSec }: { readonly tokens: readonly Address[]; readonly timestampSec: bigint },
  ask: Ask,
): Promise<[Address, PriceAtOutcome][]> {
  const { prices } = client.chain
  const { aaveOracle } = prices
  const questions = tokens.map((token): readonly Question[] => {
    const feed = prices.usdFeeds[token]?.feed
    if (feed !== undefined) return latestRoundQuestions(feed)
    return aaveOracle === undefined ? [] : [sourceQuestion(aaveOracle, token), priceQuestion(aaveOracle, token)]
  })
  const answers = [...(await ask(questions.flat()))]
  return tokens.map((token, index) => {
    const own = answers.splice(0, questions[index]?.length ?? 0)
    const isFeed = prices.usdFeeds[token] !== undefined
    const round = isFeed ? latestRoundOf(own[0], own[1]) : undefined
    const aave = isFeed || own.length === 0 ? undefined : aaveAnswer(own[0], own[1])
    return [token, outcomeOf(client, token, { round, aave, blockTimestampSec: timestampSec }, 'state')]
  })
}

/** Prices by the rounds that feeds keep, read at the newest block. */
async function readRounds(
  client: ChainClient,
  { asker, tokens, block, clock }: PricesAtQuestion,
  signal: AbortSignal,
): Promise<ReadonlyMap<Address, PriceAtOutcome>> {
  const { chain } = client
  return client.read(
    async (endpoint, within) => {
      const newest = await readLatestBlock(endpoint, chain.id, within)
      const ask: Ask = async (questions) =>
        (await readCalls(endpoint, { questions, block: newest, clock }, within)).answers
      const outcomes = tokens.map(async (token): Promise<[Address, PriceAtOutcome]> => {
        for (const feed of await feedsOf(client, { asker, token }, ask)) {
          const round = await readRoundAt(feed, block.timestampSec, ask)
          if (round !== undefined) return [token, roundOutcome(client, { token, feed, round, block })]
        }
        return [token, withoutRounds(client, { asker, token, block })]
      })
      return new Map(await Promise.all(outcomes))
    },
    { signal, budgetMs: BUDGET_MS },
  )
}

/** The feeds whose rounds may tell a token's price: the one that its oracle asks today, or that is configured. */
async function feedsOf(
  { chain: { prices } }: ChainClient,
  { asker, token }: { readonly asker: PriceAsker; readonly token: Address },
  ask: Ask,
): Promise<Address[]> {
  const own = prices.usdFeeds[token]?.feed
  if (asker.kind === 'chain' && own !== undefined) return [own]
  const oracle = asker.kind === 'chain' ? prices.aaveOracle : asker.oracle
  const asked = oracle === undefined ? undefined : addressIn((await ask([sourceQuestion(oracle, token)]))[0])
  return [asked, own].filter((feed) => feed !== undefined)
}

/** A feed that configuration names must have been fresh; an oracle takes whatever its feed says. */
function roundOutcome(
  client: ChainClient,
  found: { readonly token: Address; readonly feed: Address; readonly round: FeedRound; readonly block: PriceBlock },
): PriceAtOutcome {
  const { token, feed, round, block } = found
  if (client.chain.prices.usdFeeds[token]?.feed === feed) {
    return outcomeOf(client, token, { round, aave: undefined, blockTimestampSec: block.timestampSec }, 'round')
  }
  if (round.answer <= 0n) return missing('its price feed answered nothing above zero')
  return { kind: 'price', price: { units: round.answer, scale: round.decimals, source: 'feed' }, evidence: 'round' }
}

/** The dollar of a stablecoin that has no feed and no oracle needs no past. */
function withoutRounds(
  client: ChainClient,
  { asker, token, block }: { readonly asker: PriceAsker; readonly token: Address; readonly block: PriceBlock },
): PriceAtOutcome {
  const { usdFeeds, aaveOracle, stablecoins } = client.chain.prices
  const hasNoSource = asker.kind === 'chain' && usdFeeds[token] === undefined && aaveOracle === undefined
  if (hasNoSource && stablecoins.includes(token)) {
    const answers = { round: undefined, aave: undefined, blockTimestampSec: block.timestampSec }
    return outcomeOf(client, token, answers, 'state')
  }
  return missing(`no endpoint keeps the state of block ${block.number}, and no feed of it keeps rounds so old`)
}

function outcomeOf(
  { chain: { prices } }: ChainClient,
  token: Address,
  answers: UsdAnswers,
  evidence: PriceEvidence,
): PriceAtOutcome {
  const outcome = usdPriceOf(token, { prices, answers })
  return outcome.kind === 'missing' ? outcome : { ...outcome, evidence }
}

function aaveAnswer(source: Answer, price: Answer): UsdAnswers['aave'] {
  const asked = addressIn(source)
  return asked === undefined ? undefined : { source: asked, price: uintIn(price) }
}

function oracleQuestion(provider: Address): Question {
  return { to: provider, data: encodeFunctionData({ abi: ABI, functionName: 'getPriceOracle' }) }
}

function oracleQuestions(oracle: Address, tokens: readonly Address[]): Question[] {
  return [
    { to: oracle, data: encodeFunctionData({ abi: ABI, functionName: 'BASE_CURRENCY' }) },
    { to: oracle, data: encodeFunctionData({ abi: ABI, functionName: 'BASE_CURRENCY_UNIT' }) },
    ...tokens.map((token) => priceQuestion(oracle, token)),
  ]
}

function sourceQuestion(to: Address, token: Address): Question {
  return { to, data: encodeFunctionData({ abi: ABI, functionName: 'getSourceOfAsset', args: [token] }) }
}

function priceQuestion(to: Address, token: Address): Question {
  return { to, data: encodeFunctionData({ abi: ABI, functionName: 'getAssetPrice', args: [token] }) }
}

/** Decimals of a unit that is a power of ten. */
function scaleOf(unit: bigint | undefined): number | undefined {
  return unit !== undefined && /^10*$/.test(String(unit)) ? String(unit).length - 1 : undefined
}

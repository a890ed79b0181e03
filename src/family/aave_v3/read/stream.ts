import { type Address, type Hex, toFunctionSelector } from 'viem'
import type { PinnedBlock } from '../../../chain/block.ts'
import { readMulticall } from '../../../chain/call/many/multicall.ts'
import { decodeWord, encodeCall, tryDecodeAddress, tryDecodeUint } from '../../../chain/call/words.ts'
import { readBlock } from '../../../chain/evm/read_block.ts'
import type { ChainClient, Endpoint } from '../../../chain/rpc/client.ts'
import { parseQuantity } from '../../../chain/rpc/value.ts'
import type { Stream } from '../../../history/stream.ts'
import { createCache } from '../../../lib/async/cache.ts'
import { createPrefetcher } from '../../../lib/async/prefetch.ts'
import type { Work } from '../../../lib/async/work.ts'
import type { Clock } from '../../../lib/clock.ts'
import { UnavailableError, UpstreamError } from '../../../lib/error.ts'
import { LENDING_EVENTS, type LendingEvent, readAllLendingEvents } from '../../lending/lending_event.ts'
import { checkBalances, hasAllTokens, isIndexTracked, SCALED_SINCE_SEC, type TokenBalance } from '../event/balance.ts'
import { checkContinuity } from '../event/continuity.ts'
import { createFilters, decodeLogs } from '../event/decode.ts'
import type { LendingTarget } from '../event/log.ts'

/** Name of the stream in the database; never changes. */
const NAME = 'aave_v3_lending'

/** Creates the stream of wallets' movements in markets. */
export function createLendingStream({ clock }: { readonly clock: Clock }): Stream<LendingEvent, LendingTarget> {
  const isUntouched = createUntouchedCheck(clock)
  const balanceReader = createBalanceReader(clock)
  return {
    name: NAME,
    table: LENDING_EVENTS,
    filters: createFilters,
    decode: decodeLogs,
    checkContinuity,
    isUntouched: (target, { subject: wallet, ...at }, work) => isUntouched({ target, wallet, ...at }, work),
    prefetch: (target, { subject: wallet, client, finalized }, work) =>
      balanceReader.prefetch(client, { target, wallet, block: finalized }, work),
    async verify(target, { subject: wallet, client, db, toBlock }, work) {
      const balances = await balanceReader.read(client, { target, wallet, block: toBlock }, work)
      if (balances === undefined) return
      const rows = await readAllLendingEvents(db, { target, stream: NAME, wallet, toBlock })
      if (rows !== undefined) checkBalances(target, rows, { balances, toBlock })
    },
  }
}

const SCALED_BALANCE_OF = toFunctionSelector('scaledBalanceOf(address user)')
const GET_PREVIOUS_INDEX = toFunctionSelector('getPreviousIndex(address user)')
const BUDGET_MS = 4_000

/** Maximum number of prefetches in flight. */
const AHEAD_MAX = 64

/** A wallet, a market and a block. */
interface BalanceQuery<At> {
  readonly target: LendingTarget
  readonly wallet: Hex
  readonly block: At
}

type Balances = readonly TokenBalance[] | undefined

/** Creates a reader of a wallet's state in the tokens of a market at a past block. */
export function createBalanceReader(clock: Clock) {
  const prefetcher = createPrefetcher<Balances>({ readsMax: AHEAD_MAX })

  async function readPinned(client: ChainClient, query: BalanceQuery<number>, work: Work) {
    const { chainId } = query.target
    const number = BigInt(query.block)
    try {
      const block = await client.read((endpoint, within) => readBlock(endpoint, { chainId, number }, within), {
        work,
        past: 'header',
      })
      return await readBalances(client, { ...query, block, clock }, work)
    } catch (error) {
      if (error instanceof UnavailableError) return undefined
      throw error
    }
  }

  return {
    /** Undefined if no endpoint keeps that block's state. Throws `AbortedError`. */
    async read(client: ChainClient, query: BalanceQuery<number>, work: Work): Promise<Balances> {
      return (await prefetcher.take(getKey(query))) ?? (await readPinned(client, query, work))
    },
    /** Starts that read at a final block; `read` uses the result once. */
    prefetch(client: ChainClient, query: BalanceQuery<PinnedBlock>, work: Work): void {
      const { target, wallet, block } = query
      const key = getKey({ target, wallet, block: Number(block.number) })
      prefetcher.start(key, (within) => readBalances(client, { ...query, clock }, within), work)
    },
  }
}

function getKey({ target, wallet, block }: BalanceQuery<number>): string {
  return `${target.chainId}:${target.contract}:${wallet}:${block}`
}

/** Throws as `ChainClient.read`. */
async function readBalances(
  client: ChainClient,
  query: BalanceQuery<PinnedBlock> & { readonly clock: Clock },
  work: Work,
): Promise<readonly TokenBalance[]> {
  const { target, wallet, block, clock } = query
  const tokens = [...target.tokens].filter(([, token]) => isIndexTracked(token)).map(([token]) => token)
  const callData = [encodeCall(SCALED_BALANCE_OF, wallet), encodeCall(GET_PREVIOUS_INDEX, wallet)]
  const calls = tokens.flatMap((to) => callData.map((data) => ({ to, data })))
  const { results } = await client.read(
    (endpoint, within) => readMulticall(endpoint, { calls, block, clock }, within),
    { work, budgetMs: BUDGET_MS, past: block },
  )
  return tokens.flatMap((token, index) => {
    const [scaled = '0x', indexRay = '0x'] = results.slice(2 * index, 2 * index + 2)
    // A token that does not exist yet returns nothing.
    if (scaled.length < 66 || indexRay.length < 66) return []
    return { token, scaled: decodeWord(scaled, 0), indexRay: decodeWord(indexRay, 0) }
  })
}

/** A wallet, a market and the last block to check for movements. */
interface UntouchedQuery {
  readonly client: ChainClient
  readonly target: LendingTarget
  readonly wallet: Hex
  readonly block: PinnedBlock
}

const NONCES = toFunctionSelector('nonces(address owner)')
const ADDRESSES_PROVIDER = toFunctionSelector('ADDRESSES_PROVIDER()')
const GET_POOL_CONFIGURATOR = toFunctionSelector('getPoolConfigurator()')
/** Listings of reserves and changes of a market's contracts are rare. */
const MARKET_MS = 3_600_000
const MARKETS_MAX = 1_000

/** Conditions under which the state of the tokens is a proof. */
interface MarketFacts {
  /** True if all tokens of the market are known. */
  readonly isWhole: boolean
  /** True if since the first block every transfer stores the indexes of both wallets. */
  readonly isScaled: boolean
}

/**
 * Creates a check whether a wallet provably never had an event in a market, with one call at the block: the wallet has
 * no balance in any token, and no token has ever stored an index for it, as tokens do at every movement and never undo.
 * Two cases could hide an event: a reserve dropped since, and contracts before 3.0.1, whose transfers stored nothing.
 * The check is therefore false unless all tokens of the market are known; in a market that old, the wallet must also
 * never have sent a transaction or signed a permit. Throws as `ChainClient.read`.
 */
function createUntouchedCheck(clock: Clock): (query: UntouchedQuery, work: Work) => Promise<boolean> {
  const markets = createCache<MarketFacts>({ clock, entriesMax: MARKETS_MAX })

  function getMarketFacts({ client, target, block }: UntouchedQuery, work: Work): Promise<MarketFacts> {
    const key = `${target.chainId}:${target.contract}:${[...target.tokens.keys()].join()}`
    const read = async (shared: Work) => {
      const value = await client.read((endpoint, within) => readFacts(endpoint, { target, block, clock }, within), {
        work: shared,
      })
      return { value, lifeMs: MARKET_MS }
    }
    return markets.get({ key, read }, work)
  }

  return async (query, work) => {
    const { client, target, wallet, block } = query
    const [{ isWhole, isScaled }, state] = await Promise.all([
      getMarketFacts(query, work),
      client.read((endpoint, within) => readState(endpoint, { target, wallet, block, clock }, within), { work }),
    ])
    return isWhole && state.isEmpty && (isScaled || state.neverSigned)
  }
}

async function readState(
  endpoint: Endpoint,
  { target, wallet, block, clock }: Omit<UntouchedQuery, 'client'> & { readonly clock: Clock },
  work: Work,
): Promise<{ readonly isEmpty: boolean; readonly neverSigned: boolean }> {
  const tokens = [...target.tokens].filter(([, token]) => isIndexTracked(token))
  const supplies = tokens.filter(([, { side }]) => side === 'supply')
  const toCall = (selector: Hex) => (entry: readonly [Hex, unknown]) => ({
    to: entry[0],
    data: encodeCall(selector, wallet),
  })
  const state = [...tokens.map(toCall(SCALED_BALANCE_OF)), ...tokens.map(toCall(GET_PREVIOUS_INDEX))]
  const [{ results }, sentCount] = await Promise.all([
    readMulticall(endpoint, { calls: [...state, ...supplies.map(toCall(NONCES))], block, clock }, work),
    readNonce(endpoint, { account: wallet, block }, work),
  ])
  const areZero = (some: typeof results) => some.every((answer) => tryDecodeUint(answer) === 0n)
  const permits = results.slice(state.length)
  return { isEmpty: areZero(results.slice(0, state.length)), neverSigned: sentCount === 0n && areZero(permits) }
}

async function readFacts(
  endpoint: Endpoint,
  { target, block, clock }: { readonly target: LendingTarget; readonly block: PinnedBlock; readonly clock: Clock },
  work: Work,
): Promise<MarketFacts> {
  const ask = async (to: Address, data: Hex): Promise<Address> => {
    const { results } = await readMulticall(endpoint, { calls: [{ to, data }], block, clock }, work)
    const address = tryDecodeAddress(results[0])
    if (address === undefined) throw new UpstreamError('Cannot read the market: it does not return its contracts')
    return address
  }
  const configurator = await ask(await ask(target.contract, ADDRESSES_PROVIDER), GET_POOL_CONFIGURATOR)
  const [nonce, firstBlock] = await Promise.all([
    readNonce(endpoint, { account: configurator, block }, work),
    readBlock(endpoint, { chainId: target.chainId, number: BigInt(target.startBlock) }, work),
  ])
  // No market has 10,000 tokens.
  const isWhole = nonce < 10_000n && hasAllTokens(target.tokens, { configurator, nonce: Number(nonce) })
  return { isWhole, isScaled: Number(firstBlock.timestampSec) >= SCALED_SINCE_SEC }
}

/** Nonce of an account: transactions sent, or for a contract the contracts it has created plus one. */
function readNonce(
  endpoint: Endpoint,
  { account, block }: { readonly account: Hex; readonly block: PinnedBlock },
  work: Work,
): Promise<bigint> {
  const params = [account, { blockHash: block.hash }]
  return endpoint.request({ method: 'eth_getTransactionCount', params, parse: parseQuantity }, work)
}

import { type Address, type Hex, toFunctionSelector } from 'viem'
import type { PinnedBlock } from '../../../chain/block.ts'
import { readMulticall } from '../../../chain/call/many/multicall.ts'
import { encodeCall, tryDecodeAddress, tryDecodeUint } from '../../../chain/call/words.ts'
import { readBlock } from '../../../chain/evm/read_block.ts'
import type { ChainClient, Endpoint } from '../../../chain/rpc/client.ts'
import { parseQuantity } from '../../../chain/rpc/value.ts'
import { createCache } from '../../../lib/async/cache.ts'
import type { Clock } from '../../../lib/clock.ts'
import { UpstreamError } from '../../../lib/error.ts'
import { isIndexTracked, SCALED_SINCE_SEC } from '../event/balance.ts'
import { hasAllTokens } from '../event/creation.ts'
import type { LendingTarget } from '../event/target.ts'

/** Whose movements in which market, up to which block. */
interface UntouchedQuestion {
  readonly client: ChainClient
  readonly place: LendingTarget
  readonly wallet: Hex
  readonly block: PinnedBlock
}

const SCALED_BALANCE_OF = toFunctionSelector('scaledBalanceOf(address user)')
const GET_PREVIOUS_INDEX = toFunctionSelector('getPreviousIndex(address user)')
const NONCES = toFunctionSelector('nonces(address owner)')
const ADDRESSES_PROVIDER = toFunctionSelector('ADDRESSES_PROVIDER()')
const GET_POOL_CONFIGURATOR = toFunctionSelector('getPoolConfigurator()')
/** Reserves are listed, and a market's contracts change, rarely. */
const MARKET_MS = 3_600_000
const MARKETS_MAX = 1_000

/** What makes the state of the tokens a proof. */
interface MarketFacts {
  /** No token of it is unknown. */
  readonly isWhole: boolean
  /** Since its first block every transfer writes down the indexes of both wallets. */
  readonly isScaled: boolean
}

/**
 * Makes what tells whether it is proven that a wallet never had an event in a market, from one call about the block:
 * no token holds anything of it or ever wrote down an index for it, as each does at every movement and never undoes.
 * Two things could hide one: a reserve that was dropped since, and contracts before 3.0.1, whose transfers wrote down
 * nothing. A market of which not all tokens are known proves nothing; in one that is as old, only a wallet does that
 * never sent a transaction or signed a permit. Throws as `ChainClient.read`.
 */
export function createUntouchedCheck(
  clock: Clock,
): (question: UntouchedQuestion, signal: AbortSignal) => Promise<boolean> {
  const markets = createCache<MarketFacts>({ clock, entriesMax: MARKETS_MAX })

  function factsOf({ client, place, block }: UntouchedQuestion, signal: AbortSignal): Promise<MarketFacts> {
    const key = `${place.chainId}:${place.contract}:${[...place.tokens.keys()].join()}`
    const read = async (shared: AbortSignal) => {
      const value = await client.read((endpoint, within) => readFacts(endpoint, { place, block, clock }, within), {
        signal: shared,
      })
      return { value, lifeMs: MARKET_MS }
    }
    return markets.get({ key, read }, signal)
  }

  return async (question, signal) => {
    const { client, place, wallet, block } = question
    const [{ isWhole, isScaled }, state] = await Promise.all([
      factsOf(question, signal),
      client.read((endpoint, within) => readState(endpoint, { place, wallet, block, clock }, within), { signal }),
    ])
    return isWhole && state.isEmpty && (isScaled || state.neverSigned)
  }
}

async function readState(
  endpoint: Endpoint,
  { place, wallet, block, clock }: Omit<UntouchedQuestion, 'client'> & { readonly clock: Clock },
  signal: AbortSignal,
): Promise<{ readonly isEmpty: boolean; readonly neverSigned: boolean }> {
  const tokens = [...place.tokens].filter(([, token]) => isIndexTracked(token))
  const supplies = tokens.filter(([, { side }]) => side === 'supply')
  const ask = (selector: Hex) => (tokenOf: readonly [Hex, unknown]) => ({
    to: tokenOf[0],
    data: encodeCall(selector, wallet),
  })
  const state = [...tokens.map(ask(SCALED_BALANCE_OF)), ...tokens.map(ask(GET_PREVIOUS_INDEX))]
  const [{ results }, sent] = await Promise.all([
    readMulticall(endpoint, { calls: [...state, ...supplies.map(ask(NONCES))], block, clock }, signal),
    readNonce(endpoint, { of: wallet, block }, signal),
  ])
  const areZero = (some: typeof results) => some.every((answer) => tryDecodeUint(answer) === 0n)
  const permits = results.slice(state.length)
  return { isEmpty: areZero(results.slice(0, state.length)), neverSigned: sent === 0n && areZero(permits) }
}

async function readFacts(
  endpoint: Endpoint,
  { place, block, clock }: { readonly place: LendingTarget; readonly block: PinnedBlock; readonly clock: Clock },
  signal: AbortSignal,
): Promise<MarketFacts> {
  const ask = async (to: Address, data: Hex): Promise<Address> => {
    const { results } = await readMulticall(endpoint, { calls: [{ to, data }], block, clock }, signal)
    const address = tryDecodeAddress(results[0])
    if (address === undefined) throw new UpstreamError('The market does not name its contracts')
    return address
  }
  const configurator = await ask(await ask(place.contract, ADDRESSES_PROVIDER), GET_POOL_CONFIGURATOR)
  const [nonce, first] = await Promise.all([
    readNonce(endpoint, { of: configurator, block }, signal),
    readBlock(endpoint, { chainId: place.chainId, number: BigInt(place.startBlock) }, signal),
  ])
  // No market has so many tokens.
  const isWhole = nonce < 10_000n && hasAllTokens(place.tokens, { configurator, nonce: Number(nonce) })
  return { isWhole, isScaled: Number(first.timestampSec) >= SCALED_SINCE_SEC }
}

/** How many transactions an account has sent, or how many contracts one has created, and one. */
function readNonce(
  endpoint: Endpoint,
  { of, block }: { readonly of: Hex; readonly block: PinnedBlock },
  signal: AbortSignal,
): Promise<bigint> {
  const params = [of, { blockHash: block.hash }]
  return endpoint.request({ method: 'eth_getTransactionCount', params, parse: parseQuantity }, signal)
}

import { type Hex, toFunctionSelector } from 'viem'
import type { PinnedBlock } from '../../../chain/block.ts'
import { readMulticall } from '../../../chain/call/many/multicall.ts'
import { decodeWord, encodeCall } from '../../../chain/call/words.ts'
import { readBlock } from '../../../chain/evm/read_block.ts'
import type { ChainClient } from '../../../chain/rpc/client.ts'
import type { ExpectedFinalBlock, Stream } from '../../../history/stream.ts'
import { createPrefetcher } from '../../../lib/async/prefetch.ts'
import type { Clock } from '../../../lib/clock.ts'
import { UnavailableError } from '../../../lib/error.ts'
import { LENDING_EVENTS, type LendingEvent, readAllLendingEvents } from '../../lending/lending_event.ts'
import { checkBalances, isIndexTracked, type TokenBalance } from '../event/balance.ts'
import { checkContinuity } from '../event/continuity.ts'
import { createFilters, decodeLogs } from '../event/decode.ts'
import type { LendingTarget } from '../event/target.ts'
import { createUntouchedCheck } from './untouched.ts'

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
    isUntouched: (target, { subject: wallet, ...at }, signal) => isUntouched({ target, wallet, ...at }, signal),
    prefetch: (target, { subject: wallet, client, finalized }, signal) =>
      balanceReader.prefetch(client, { target, wallet, block: finalized }, signal),
    async verify(target, { subject: wallet, client, db, toBlock }, signal) {
      const balances = await balanceReader.read(client, { target, wallet, block: toBlock }, signal)
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

/** A past block: by its hash if it may still be replaced. */
type BalanceBlock = ExpectedFinalBlock & Partial<Pick<PinnedBlock, 'hash'>>

type Balances = readonly TokenBalance[] | undefined

/** Creates a reader of a wallet's state in the tokens of a market at a past block. */
export function createBalanceReader(clock: Clock) {
  const prefetcher = createPrefetcher<Balances>({ readsMax: AHEAD_MAX })

  async function readPinned(client: ChainClient, query: BalanceQuery<number>, signal: AbortSignal) {
    const { chainId } = query.target
    const number = BigInt(query.block)
    try {
      const block = await client.read((endpoint, within) => readBlock(endpoint, { chainId, number }, within), {
        signal,
        past: 'header',
      })
      return await readBalances(client, { ...query, block, clock }, signal)
    } catch (error) {
      if (error instanceof UnavailableError) return undefined
      throw error
    }
  }

  return {
    /** Undefined if no endpoint keeps that block's state. Throws `AbortedError`. */
    async read(client: ChainClient, query: BalanceQuery<number>, signal: AbortSignal): Promise<Balances> {
      // A prefetched block may have been replaced since: a failed check is repeated without the prefetch.
      return (await prefetcher.take(getKey(query))) ?? (await readPinned(client, query, signal))
    },
    /** Starts that read for a block that will probably be final; `read` uses the result once. */
    prefetch(client: ChainClient, query: BalanceQuery<ExpectedFinalBlock>, signal: AbortSignal): void {
      const { target, wallet, block } = query
      const key = getKey({ target, wallet, block: Number(block.number) })
      prefetcher.start(key, (within) => readBalances(client, { ...query, clock }, within), signal)
    },
  }
}

function getKey({ target, wallet, block }: BalanceQuery<number>): string {
  return `${target.chainId}:${target.contract}:${wallet}:${block}`
}

/** Throws as `ChainClient.read`. */
async function readBalances(
  client: ChainClient,
  query: BalanceQuery<BalanceBlock> & { readonly clock: Clock },
  signal: AbortSignal,
): Promise<readonly TokenBalance[]> {
  const { target, wallet, block, clock } = query
  const { chainId } = target
  const tokens = [...target.tokens].filter(([, token]) => isIndexTracked(token)).map(([token]) => token)
  const callData = [encodeCall(SCALED_BALANCE_OF, wallet), encodeCall(GET_PREVIOUS_INDEX, wallet)]
  const calls = tokens.flatMap((to) => callData.map((data) => ({ to, data })))
  const pinned = { chainId, number: block.number, ...(block.hash === undefined ? {} : { hash: block.hash }) }
  const { results } = await client.read(
    (endpoint, within) => readMulticall(endpoint, { calls, block: pinned, clock }, within),
    { signal, budgetMs: BUDGET_MS, past: block },
  )
  return tokens.flatMap((token, index) => {
    const [scaled = '0x', indexRay = '0x'] = results.slice(2 * index, 2 * index + 2)
    // A token that does not exist yet returns nothing.
    if (scaled.length < 66 || indexRay.length < 66) return []
    return { token, scaled: decodeWord(scaled, 0), indexRay: decodeWord(indexRay, 0) }
  })
}

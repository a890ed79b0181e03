import { type Hex, toFunctionSelector } from 'viem'
import type { PinnedBlock } from '../../../chain/block.ts'
import { readMulticall } from '../../../chain/call/many/multicall.ts'
import { decodeWord, encodeCall } from '../../../chain/call/words.ts'
import { readBlock } from '../../../chain/evm/read_block.ts'
import type { ChainClient } from '../../../chain/rpc/client.ts'
import type { ExpectedFinalBlock } from '../../../history/stream.ts'
import { createPrefetcher } from '../../../lib/async/prefetch.ts'
import type { Clock } from '../../../lib/clock.ts'
import { UnavailableError } from '../../../lib/error.ts'
import { isIndexTracked, type TokenBalance } from '../event/balance.ts'
import type { LendingTarget } from '../event/target.ts'

const SCALED_BALANCE_OF = toFunctionSelector('scaledBalanceOf(address user)')
const GET_PREVIOUS_INDEX = toFunctionSelector('getPreviousIndex(address user)')
const BUDGET_MS = 4_000

/** Reads that may be under way before they are asked for. */
const AHEAD_MAX = 64

/** Whose balances, in which market and at which block. */
interface BalanceQuestion<At> {
  readonly place: LendingTarget
  readonly wallet: Hex
  readonly block: At
}

/** A past block: by its hash if it may still be replaced. */
type BalanceBlock = ExpectedFinalBlock & Partial<Pick<PinnedBlock, 'hash'>>

type Balances = readonly TokenBalance[] | undefined

/** Makes a reader of what the tokens of a market say about a wallet at a past block. */
export function createBalanceReader(clock: Clock) {
  const ahead = createPrefetcher<Balances>({ readsMax: AHEAD_MAX })

  async function readPinned(client: ChainClient, question: BalanceQuestion<number>, signal: AbortSignal) {
    const { chainId } = question.place
    const number = BigInt(question.block)
    try {
      const block = await client.read((endpoint, within) => readBlock(endpoint, { chainId, number }, within), {
        signal,
        past: 'header',
      })
      return await readBalances(client, { ...question, block, clock }, signal)
    } catch (error) {
      if (error instanceof UnavailableError) return undefined
      throw error
    }
  }

  return {
    /** Undefined if no endpoint keeps that block's state. Throws `AbortedError`. */
    async read(client: ChainClient, question: BalanceQuestion<number>, signal: AbortSignal): Promise<Balances> {
      // What was begun may be of a block that was then replaced: a check that fails is made once more, without it.
      return (await ahead.take(nameOf(question))) ?? (await readPinned(client, question, signal))
    },
    /** Begins that read for a block that will probably be final; it is handed out once. */
    foresee(client: ChainClient, question: BalanceQuestion<ExpectedFinalBlock>, signal: AbortSignal): void {
      const { place, wallet, block } = question
      const name = nameOf({ place, wallet, block: Number(block.number) })
      ahead.start(name, (within) => readBalances(client, { ...question, clock }, within), signal)
    },
  }
}

function nameOf({ place, wallet, block }: BalanceQuestion<number>): string {
  return `${place.chainId}:${place.contract}:${wallet}:${block}`
}

/** Throws as `ChainClient.read`. */
async function readBalances(
  client: ChainClient,
  question: BalanceQuestion<BalanceBlock> & { readonly clock: Clock },
  signal: AbortSignal,
): Promise<readonly TokenBalance[]> {
  const { place, wallet, block, clock } = question
  const { chainId } = place
  const tokens = [...place.tokens].filter(([, token]) => isIndexTracked(token)).map(([token]) => token)
  const asked = [encodeCall(SCALED_BALANCE_OF, wallet), encodeCall(GET_PREVIOUS_INDEX, wallet)]
  const calls = tokens.flatMap((to) => asked.map((data) => ({ to, data })))
  const at = { chainId, number: block.number, ...(block.hash === undefined ? {} : { hash: block.hash }) }
  const { results } = await client.read(
    (endpoint, within) => readMulticall(endpoint, { calls, block: at, clock }, within),
    { signal, budgetMs: BUDGET_MS, past: block },
  )
  return tokens.flatMap((token, index) => {
    const [scaled = '0x', indexRay = '0x'] = results.slice(2 * index, 2 * index + 2)
    // A token that was not there yet answers nothing.
    if (scaled.length < 66 || indexRay.length < 66) return []
    return { token, scaled: decodeWord(scaled, 0), indexRay: decodeWord(indexRay, 0) }
  })
}

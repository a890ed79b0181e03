import { type Hex, toFunctionSelector } from 'viem'
import { readCalls } from '../../../chain/call/many/read_calls.ts'
import { encodeCall, wordOf } from '../../../chain/call/words.ts'
import { readBlock } from '../../../chain/read_block.ts'
import type { ChainClient } from '../../../chain/rpc/client.ts'
import type { Clock } from '../../../lib/clock.ts'
import { UnavailableError } from '../../../lib/error.ts'
import { isFollowed, type TokenBalance } from '../event/balance.ts'
import type { LendingPlace } from '../event/place.ts'

const SCALED_BALANCE_OF = toFunctionSelector('scaledBalanceOf(address user)')
const GET_PREVIOUS_INDEX = toFunctionSelector('getPreviousIndex(address user)')
const BUDGET_MS = 4_000

/**
 * What the tokens of a market say about a wallet at a past block. Undefined if no endpoint keeps that block's state.
 * Throws `AbortedError`.
 */
export async function readBalances(
  client: ChainClient,
  question: { readonly place: LendingPlace; readonly wallet: Hex; readonly block: number; readonly clock: Clock },
  signal: AbortSignal,
): Promise<readonly TokenBalance[] | undefined> {
  const { place, wallet, clock } = question
  const { chainId } = place
  const tokens = [...place.tokens].filter(([, token]) => isFollowed(token)).map(([token]) => token)
  const asked = [encodeCall(SCALED_BALANCE_OF, wallet), encodeCall(GET_PREVIOUS_INDEX, wallet)]
  const questions = tokens.flatMap((to) => asked.map((data) => ({ to, data })))
  try {
    const number = BigInt(question.block)
    const block = await client.read((endpoint, within) => readBlock(endpoint, { chainId, number }, within), {
      signal,
      past: 'header',
    })
    const { answers } = await client.read(
      (endpoint, within) => readCalls(endpoint, { questions, block, clock }, within),
      { signal, budgetMs: BUDGET_MS, past: block },
    )
    return tokens.flatMap((token, index) => {
      const [scaled = '0x', indexRay = '0x'] = answers.slice(2 * index, 2 * index + 2)
      // A token that was not there yet answers nothing.
      if (scaled.length < 66 || indexRay.length < 66) return []
      return { token, scaled: wordOf(scaled, 0), indexRay: wordOf(indexRay, 0) }
    })
  } catch (error) {
    if (error instanceof UnavailableError) return undefined
    throw error
  }
}

import { type Address, encodeFunctionData, erc20Abi } from 'viem'
import { type ReturnData, readMulticall } from '../../chain/call/many/multicall.ts'
import { createChainClient } from '../../chain/evm/evm_client.ts'
import { UNUSED_ADDRESS } from '../../chain/past/state_depth.ts'
import type { FinanceChain } from '../../finance/chain.ts'
import { UnavailableError } from '../../lib/error.ts'
import { type Finding, okFinding, warningFinding } from '../../lib/finding.ts'
import { type Examination, formatReason } from './evm.ts'

const CHECK = 'tokens'
const COST = 'a portfolio has no rows of them'
/** Tokens that are asked: one call, if the endpoint overrides state. */
const ASKED_MAX = 150
/** Tokens that are named; the others are a number. */
const NAMED_MAX = 5
const WORD_CHARS = 66

/**
 * How many tokens every wallet of a chain is asked about, and which of those that the operator added have no contract or
 * do not answer, through the endpoint at position `index`. The built-in ones were looked at when the list was made.
 */
export async function examineTokens(
  chain: FinanceChain,
  { index }: { readonly index: number },
  { signal, ...shared }: Examination,
): Promise<readonly Finding[]> {
  const listed = `${chain.tokens.addresses.length} listed`
  const added = [...new Set(chain.tokens.added.flatMap(({ addresses }) => addresses))]
  if (added.length === 0) return [okFinding(CHECK, listed)]
  const asked = added.slice(0, ASKED_MAX)
  const client = createChainClient({ chain: { ...chain, rpcUrls: chain.rpcUrls.slice(index, index + 1) }, ...shared })
  const data = encodeFunctionData({ abi: erc20Abi, functionName: 'balanceOf', args: [UNUSED_ADDRESS] })
  try {
    const { results } = await client.read(
      (endpoint, within) => {
        const calls = asked.map((to) => ({ to, data }))
        return readMulticall(endpoint, { calls, block: { chainId: chain.id }, clock: shared.clock }, within)
      },
      { signal },
    )
    const dead = asked.flatMap((token, at) => wrongWith(token, results[at]) ?? [])
    const few = asked.length < added.length ? `the first ${asked.length} of ` : ''
    const of = `${listed}; of ${few}${added.length} in TOKEN_LISTS and CHAINS_FILE`
    if (dead.length === 0) return [okFinding(CHECK, `${of} all answer`)]
    const more = dead.length > NAMED_MAX ? [`and ${dead.length - NAMED_MAX} more`] : []
    return [
      warningFinding(CHECK, `${of} ${dead.length} do not: ${[...dead.slice(0, NAMED_MAX), ...more].join(', ')}`, COST),
    ]
  } catch (error) {
    if (!(error instanceof UnavailableError)) throw error
    return [warningFinding(CHECK, `${listed}; ${formatReason(error)}`, 'it is not known which of them answer')]
  } finally {
    client.close()
  }
}

function wrongWith(token: Address, answer: ReturnData): string | undefined {
  if (answer === '0x') return `${token} (no contract)`
  return answer === undefined || answer.length < WORD_CHARS ? `${token} (no balance)` : undefined
}

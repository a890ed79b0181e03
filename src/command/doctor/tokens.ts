import { type Address, encodeFunctionData, erc20Abi } from 'viem'
import { type ReturnData, readMulticall } from '../../chain/call/many/multicall.ts'
import { createChainClient } from '../../chain/evm/evm_client.ts'
import { UNUSED_ADDRESS } from '../../chain/past/state_depth.ts'
import type { FinanceChain } from '../../finance/chain.ts'
import { UnavailableError } from '../../lib/error.ts'
import { type Finding, okFinding, warningFinding } from '../../lib/finding.ts'
import { type Examination, formatReason } from './evm.ts'

const CHECK = 'tokens'
const COST = 'they do not appear in portfolios'
/** Maximum tokens to check: one call, if the endpoint supports state override. */
const CHECKED_MAX = 150
/** Maximum tokens to name; the others are counted. */
const NAMED_MAX = 5
const WORD_CHARS = 66

/**
 * Counts the tokens of a chain's list and finds those added by the operator that have no contract or do not answer,
 * through the endpoint at position `index`. Built-in tokens are checked when the list is created.
 */
export async function examineTokens(
  chain: FinanceChain,
  { index }: { readonly index: number },
  { signal, ...shared }: Examination,
): Promise<readonly Finding[]> {
  const listed = `${chain.tokens.addresses.length} listed`
  const addedTokens = [...new Set(chain.tokens.added.flatMap(({ addresses }) => addresses))]
  if (addedTokens.length === 0) return [okFinding(CHECK, listed)]
  const checkedTokens = addedTokens.slice(0, CHECKED_MAX)
  const client = createChainClient({ chain: { ...chain, rpcUrls: chain.rpcUrls.slice(index, index + 1) }, ...shared })
  const data = encodeFunctionData({ abi: erc20Abi, functionName: 'balanceOf', args: [UNUSED_ADDRESS] })
  try {
    const { results } = await client.read(
      (endpoint, within) => {
        const calls = checkedTokens.map((to) => ({ to, data }))
        return readMulticall(endpoint, { calls, block: { chainId: chain.id }, clock: shared.clock }, within)
      },
      { signal },
    )
    const failures = checkedTokens.flatMap((token, at) => describeFailure(token, results[at]) ?? [])
    const subset = checkedTokens.length < addedTokens.length ? `the first ${checkedTokens.length} of ` : ''
    const summary = `${listed}; of ${subset}${addedTokens.length} in TOKEN_LISTS and CHAINS_FILE`
    if (failures.length === 0) return [okFinding(CHECK, `${summary} all answer`)]
    const remainder = failures.length > NAMED_MAX ? [`and ${failures.length - NAMED_MAX} more`] : []
    return [
      warningFinding(
        CHECK,
        `${summary} ${failures.length} do not: ${[...failures.slice(0, NAMED_MAX), ...remainder].join(', ')}`,
        COST,
      ),
    ]
  } catch (error) {
    if (!(error instanceof UnavailableError)) throw error
    return [warningFinding(CHECK, `${listed}; ${formatReason(error)}`, 'unknown which of them answer')]
  } finally {
    client.close()
  }
}

function describeFailure(token: Address, answer: ReturnData): string | undefined {
  if (answer === '0x') return `${token} (no contract)`
  return answer === undefined || answer.length < WORD_CHARS ? `${token} (no balance)` : undefined
}

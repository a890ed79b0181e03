import { createChainClient } from '../../chain/evm/evm_client.ts'
import { UNUSED_ADDRESS } from '../../chain/past/state_depth.ts'
import { ContractUnresponsiveError } from '../../chain/rpc/client.ts'
import type { FinanceChain } from '../../finance/chain.ts'
import { UnavailableError } from '../../lib/error.ts'
import { type Finding, okFinding, warningFinding } from '../../lib/finding.ts'
import type { Config } from '../../service/config/config.ts'
import { type Examination, formatReason } from './evm.ts'

const CHECK = 'contracts'
const COST = 'requests that do not leave it out with a parameter are 503'

/**
 * Whether each contract that answers need is read through the endpoint at position `index` of a chain, and which are
 * not.
 */
export async function examineContracts(
  chain: FinanceChain,
  { index, families }: { readonly index: number; readonly families: Config['families'] },
  { signal, ...shared }: Examination,
): Promise<readonly Finding[]> {
  const own: FinanceChain = { ...chain, rpcUrls: chain.rpcUrls.slice(index, index + 1) }
  const client = createChainClient({ chain: own, ...shared })
  try {
    const clients = new Map([[chain.id, client]])
    const contracts = families.flatMap((family) => family.contracts({ clients, clock: shared.clock }))
    if (contracts.length === 0) return []
    const wrong: string[] = []
    for (const contract of contracts) {
      try {
        await contract.read(UNUSED_ADDRESS, signal)
      } catch (error) {
        if (!(error instanceof UnavailableError)) throw error
        wrong.push(error.cause instanceof ContractUnresponsiveError ? error.cause.message : formatReason(error))
      }
    }
    if (wrong.length === 0)
      return [okFinding(CHECK, contracts.length === 1 ? 'answers' : `all ${contracts.length} answer`)]
    return [warningFinding(CHECK, wrong.join(', '), COST)]
  } finally {
    client.close()
  }
}

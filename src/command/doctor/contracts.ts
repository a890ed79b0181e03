import { createChainClient } from '../../chain/evm/evm_client.ts'
import { UNUSED_ADDRESS } from '../../chain/past/state_depth.ts'
import { ContractUnresponsiveError } from '../../chain/rpc/client.ts'
import type { Config } from '../../config/config.ts'
import type { FinanceChain } from '../../finance/chain.ts'
import { UnavailableError } from '../../lib/error.ts'
import { type Finding, okFinding, warningFinding } from '../../lib/finding.ts'
import { type Examination, formatReason } from './evm.ts'

const CHECK = 'contracts'
const COST = 'requests that do not exclude it with a parameter are 503'

/**
 * Examines whether the endpoint at position `index` of a chain can read every contract that answers need, and lists
 * those that fail.
 */
export async function examineContracts(
  chain: FinanceChain,
  { index, families }: { readonly index: number; readonly families: Config['families'] },
  { signal, ...shared }: Examination,
): Promise<readonly Finding[]> {
  const endpointChain: FinanceChain = { ...chain, rpcUrls: chain.rpcUrls.slice(index, index + 1) }
  const client = createChainClient({ chain: endpointChain, ...shared })
  try {
    const clients = new Map([[chain.id, client]])
    const contracts = families.flatMap((family) => family.contracts({ clients, clock: shared.clock }))
    if (contracts.length === 0) return []
    const failures: string[] = []
    for (const contract of contracts) {
      try {
        await contract.read(UNUSED_ADDRESS, signal)
      } catch (error) {
        if (!(error instanceof UnavailableError)) throw error
        failures.push(error.cause instanceof ContractUnresponsiveError ? error.cause.message : formatReason(error))
      }
    }
    if (failures.length === 0)
      return [okFinding(CHECK, contracts.length === 1 ? 'answers' : `all ${contracts.length} answer`)]
    return [warningFinding(CHECK, failures.join(', '), COST)]
  } finally {
    client.close()
  }
}

import type { UnresponsiveEndpoint } from '../../chain/rpc/rotation.ts'
import { SOLANA_CHAIN_ID } from '../../chain/solana/client.ts'
import { forEachLimit } from '../../lib/async/parallel.ts'
import { createWork } from '../../lib/async/work.ts'
import type { Log } from '../../lib/log.ts'
import type { Clients } from '../clients.ts'

/** Chains checked at the same time: public endpoints count requests by client address. */
const AT_ONCE = 4

/**
 * Requests the newest block from every endpoint, in the background, and logs those that did not answer, by their
 * positions from 1 as in `doctor`, and the variable that sets others.
 */
export async function logUnresponsiveEndpoints({ evm, solana }: Clients, log: Log): Promise<void> {
  const chains = [...evm].map(([id, client]) => ({ id, variable: `RPC_URL_${id}`, client }))
  const clients = [
    ...chains,
    ...(solana === undefined ? [] : [{ id: SOLANA_CHAIN_ID, variable: 'SOLANA_RPC_URL', client: solana }]),
  ]
  const logUnresponsive = async ({ id: chainId, variable, client }: (typeof clients)[number]) => {
    const unresponsive: readonly UnresponsiveEndpoint[] = await client.findUnresponsive()
    if (unresponsive.length === 0) return
    const endpoints = unresponsive.map(({ endpoint }) => endpoint)
    const reasons = unresponsive.map(({ reason }) => reason)
    const total = client.report().length
    const whose = `of chain ${chainId} ${endpoints.length === total ? 'answers' : 'do not answer'}`
    const which = endpoints.length === total ? 'No endpoint' : `${endpoints.length} of ${total} endpoints`
    log.warn({ msg: `${which} ${whose}: set ${variable} to others`, chainId, endpoints, of: total, reasons })
  }
  await forEachLimit(clients, AT_ONCE, logUnresponsive, createWork(new AbortController().signal))
}

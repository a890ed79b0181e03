import type { UnresponsiveEndpoint } from '../../chain/rpc/rotation/rotation.ts'
import { SOLANA_CHAIN_ID } from '../../chain/solana/client.ts'
import { forEachLimit } from '../../lib/async/for_each_limit.ts'
import type { Log } from '../../lib/log.ts'
import type { Clients } from '../clients.ts'

/** Chains that are asked at the same time: public endpoints count requests by address. */
const AT_ONCE = 4

/**
 * Asks every endpoint for its newest block, in the background, and says in the log which did not answer, by their places
 * from 1 as `doctor` does, and which variable sets others.
 */
export async function logUnresponsiveEndpoints({ evm, solana }: Clients, log: Log): Promise<void> {
  const chains = [...evm].map(([id, client]) => ({ id, variable: `RPC_URL_${id}`, client }))
  const asked = [
    ...chains,
    ...(solana === undefined ? [] : [{ id: SOLANA_CHAIN_ID, variable: 'SOLANA_RPC_URL', client: solana }]),
  ]
  const name = async ({ id: chainId, variable, client }: (typeof asked)[number]) => {
    const silent: readonly UnresponsiveEndpoint[] = await client.silent()
    if (silent.length === 0) return
    const endpoints = silent.map(({ endpoint }) => endpoint)
    const reasons = silent.map(({ reason }) => reason)
    const of = client.report().length
    log.warn({ msg: `RPC endpoints did not answer: ${variable} sets others`, chainId, endpoints, of, reasons })
  }
  await forEachLimit(asked, AT_ONCE, name, new AbortController().signal)
}

import type { Fault, SeenRequest } from '../../rpc.ts'
import type { CAP_DIALECTS } from './endpoint.ts'

/** Refuses ranges of logs longer than the cap, in a provider's words. */
export function capped(
  dialect: (typeof CAP_DIALECTS)[number],
  cap: number,
): (request: SeenRequest) => Fault | undefined {
  return ({ method, params }) => {
    const { fromBlock, toBlock } = (params[0] ?? {}) as { readonly fromBlock?: string; readonly toBlock?: string }
    if (method !== 'eth_getLogs' || fromBlock === undefined || toBlock === undefined) return undefined
    const asked = Number(toBlock) - Number(fromBlock) + 1
    if (asked <= cap) return undefined
    const { status, code, words } = dialect(cap, asked, Number(fromBlock))
    return { kind: 'error', status, error: { code, message: words } }
  }
}

import { UpstreamError } from '../../lib/error.ts'
import { RpcRefusedError } from '../rpc/client.ts'
import { EndpointError } from '../rpc/error.ts'
import type { RpcErrorMapping } from '../rpc/transport.ts'

/**
 * Wrong request, unknown method, wrong parameters, no access, not in the node's index, and two codes that providers
 * copy from HTTP, not allowed and disabled: a retry does not help.
 */
const REFUSED_CODES: ReadonlySet<number> = new Set([-32600, -32601, -32602, -32401, -32010, 401, 403, 410])
const BUSY_CODES: ReadonlySet<number> = new Set([429, -32429])

const NOT_REACHED = -32016

/**
 * Error mapping for Solana's nodes and their providers. A node that is behind (-32005), has not reached the slot
 * (-32016) or failed (-32603) is retried, on other endpoints first; 401, 403 and other 4xx are not retried on that
 * endpoint.
 */
export const SOLANA_ERROR_MAPPING: RpcErrorMapping = {
  fromRpc({ code }) {
    if (BUSY_CODES.has(code)) return new EndpointError('busy', 'The endpoint limits its rate')
    if (REFUSED_CODES.has(code)) return new RpcRefusedError(code, `The endpoint refused the call (JSON-RPC ${code})`)
    // Nodes behind one address may differ by some slots.
    if (code === NOT_REACHED) return new EndpointError('behind', 'The endpoint has not reached the slot')
    return new UpstreamError(`The endpoint failed (JSON-RPC ${code})`)
  },
  fromStatus(status) {
    const message = `The endpoint answered HTTP ${status}`
    return status >= 500 || status === 408 ? new UpstreamError(message) : new RpcRefusedError(status, message)
  },
}

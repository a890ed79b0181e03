import { SOLANA_CHAIN_ID } from '../../../chain/solana/client.ts'
import { CodedError } from '../../../lib/error.ts'
import { BUDGET_MS, type OrcaReader } from '../read/read.ts'

/** Time of a request: more than the reader's own limit, so that its error is told. */
export const REQUEST_MS = BUDGET_MS + 500

/** The reader, once something is read; undefined if Solana is not served. */
export type Connected = () => OrcaReader | undefined

/** The reader. Throws `CodedError` API_ENDPOINT_NOT_CONFIGURED without Solana. */
export function connectedOr(connected: Connected): OrcaReader {
  const reader = connected()
  if (reader !== undefined) return reader
  throw new CodedError('API_ENDPOINT_NOT_CONFIGURED', 'Cannot read Orca: no Solana endpoint is configured')
}

/** The slot of an answer. */
export function asOf(slot: bigint) {
  return [{ chainId: SOLANA_CHAIN_ID, blockNumber: slot }]
}

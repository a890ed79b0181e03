import { connectedTo } from '../../place.ts'
import { BUDGET_MS, type OrcaReader } from '../read/read.ts'

/** Time of a request: more than the reader's own limit, so that its error is told. */
export const REQUEST_MS = BUDGET_MS + 500

/** The reader, once something is read; undefined if Solana is not served. */
export type Connected = () => OrcaReader | undefined

/** The reader. Throws as `connectedTo`. */
export const connectedOr = (connected: Connected) => connectedTo(connected(), 'Orca')

import { connectedTo } from '../../place.ts'
import type { KaminoReader } from '../read/read.ts'

/** More than the reader's own limit, so that its error is told. */
export const SPARE_MS = 500

/** The reader, once something is read; undefined if Solana is not served. */
export type ConnectedKamino = () => KaminoReader | undefined

/** The reader. Throws as `connectedTo`. */
export const connectedOr = (connected: ConnectedKamino) => connectedTo(connected(), 'Kamino')

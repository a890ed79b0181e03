import type { SolanaClient } from '../../chain/solana.ts'
import type { Log } from '../../lib/log.ts'
import type { Family } from '../family.ts'
import type { KaminoProgram } from './program.ts'
import { createObligationReader } from './read.ts'
import { createRoutes } from './routes.ts'

/** Kamino Lend: yield and risk of one obligation. Without `solana` its routes answer `API_ENDPOINT_NOT_CONFIGURED`. */
export function createKamino(options: {
  readonly solana: SolanaClient | undefined
  readonly program: KaminoProgram
  readonly log: Log
}): Family {
  const { solana, program, log } = options
  const reader = solana === undefined ? undefined : createObligationReader({ solana, program, log })
  return { name: 'kamino', routes: createRoutes({ reader, program }) }
}

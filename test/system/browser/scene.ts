import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { SCENARIO_SEC } from '../../devnet/aave_v3/scenario.ts'
import { createChainsFile } from '../../devnet/chain.ts'
import { type Devnet, startDevnet } from '../../devnet/mod.ts'
import { testDatabase } from '../../support/database.ts'
import { scene as kaminoScene, SLOT } from '../../support/kamino_scene.ts'
import { orcaScene } from '../../support/orca_scene.ts'
import { type FaultyRpc, startFaultyRpc } from '../../support/rpc.ts'
import { type SolanaDouble, startSolanaDouble } from '../../support/solana.ts'
import { walletScene } from '../../support/wallet_scene.ts'
import { type Accounts, createAccounts } from '../program/accounts.ts'
import { buildWhatIsStale } from '../program/builds.ts'
import { executableProgram, type Program, type Service, startService } from '../program/program.ts'

await buildWhatIsStale()

/** A chain whose endpoint never answers. */
export const DEAD_CHAIN = { id: 10, name: 'OP Mainnet' }

/** The service and all that it reads, for the tests of one file. */
export interface Scene {
  readonly devnet: Devnet
  /** Proxy between the service and the devnet; without faults until a test adds rules. */
  readonly rpc: FaultyRpc
  readonly solana: SolanaDouble
  readonly program: Program
  readonly service: Service
  readonly accounts: Accounts
  /** Base URL of the pages. */
  readonly url: string
  stop(): Promise<void>
}

/** Starts chains and service; `env` adds to its configuration. */
export async function startScene(options: {
  readonly lending: boolean
  readonly env?: Readonly<Record<string, string>>
}): Promise<Scene> {
  const devnet = await startDevnet({ ageSec: 2 * SCENARIO_SEC })
  const rpc = await startFaultyRpc(devnet.rpcUrl)
  const solana = startSolanaDouble({
    accounts: (slot) => ({ ...kaminoScene({}, { slot }), ...orcaScene(), ...walletScene() }),
    slot: SLOT,
    slotMs: 400,
  })
  if (options.lending) {
    await devnet.morpho()
    await devnet.aave()
  }
  const database = await testDatabase()
  const program = executableProgram({
    DATABASE_URL: database.url,
    CHAINS: `1,${DEAD_CHAIN.id}`,
    CHAINS_FILE: '../chains.json',
    // No process listens on this port.
    [`RPC_URL_${DEAD_CHAIN.id}`]: 'http://127.0.0.1:9',
    SOLANA_RPC_URL: solana.url,
    ...options.env,
  })
  writeFileSync(join(program.directory, '../chains.json'), createChainsFile(rpc.url))
  const service = await startService(program)
  const accounts = await createAccounts(program)
  return {
    devnet,
    rpc,
    solana,
    program,
    service,
    accounts,
    url: `http://127.0.0.1:${service.port}/`,
    async stop() {
      await service.stop()
      program.remove()
      await database.close()
      await solana.stop()
      await rpc.stop()
      await devnet.stop()
    },
  }
}

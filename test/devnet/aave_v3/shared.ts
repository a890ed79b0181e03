import { type Devnet, startDevnet } from '../mod.ts'
import type { AaveDevnet } from './mod.ts'
import { SCENARIO_SEC } from './scenario.ts'

export interface SharedAave {
  readonly devnet: Devnet
  readonly aave: AaveDevnet
  /** How it was left when it was built; later other tests move it on. */
  readonly built: { readonly blockNumber: bigint; readonly timeSec: number }
}

let shared: Promise<SharedAave> | undefined

/** One devnet with Aave per process, apart from the one that liquidity tests share: here prices fall and time passes. */
export function sharedAave(): Promise<SharedAave> {
  shared ??= exclusiveAave()
  return shared
}

/** The same for one file alone, which may change what wallets with a name have. */
export async function exclusiveAave(): Promise<SharedAave> {
  const devnet = await startDevnet({ ageSec: SCENARIO_SEC })
  const aave = await devnet.aave()
  return { devnet, aave, built: { blockNumber: await aave.blockNumber(), timeSec: Date.now() / 1_000 } }
}

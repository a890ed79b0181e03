import type { Address, Hex } from 'viem'
import type { Block } from '../../../../src/chain/block.ts'
import type { LensMode } from '../../../../src/chain/call/lens.ts'
import { createChainClient } from '../../../../src/chain/evm/evm_client.ts'
import type { MarketRead, Position } from '../../../../src/family/morpho_blue/read/position.ts'
import { createPositionReader } from '../../../../src/family/morpho_blue/read/read.ts'
import type { MorphoBlueDeployment } from '../../../../src/family/morpho_blue/table.ts'
import type { FinanceChain, FinanceClient } from '../../../../src/finance/chain.ts'
import { createWork, type Work } from '../../../../src/lib/async/work.ts'
import type { Clock } from '../../../../src/lib/clock.ts'
import { silentLog } from '../../../../src/lib/log.ts'
import { MORPHO, type MorphoMarket } from '../../../devnet/morpho_blue/calls.ts'
import { withLensMode } from '../../../support/lens_mode.ts'
import { createHurriedClock, slowClock } from '../../../support/test_clock.ts'

/** Morpho at its address on Ethereum. */
export const DEPLOYMENT: MorphoBlueDeployment = { morpho: MORPHO, startBlock: 0 }

/** A wallet in one market. */
export interface PositionKey {
  readonly morpho: Address
  readonly marketId: Hex
  readonly wallet: Address
}

/** What a reading of one market means. */
export type PositionRead = { readonly block: Block } & MarketRead

/** A client of the chain. */
export function createClient(chain: FinanceChain): FinanceClient {
  return createChainClient({ chain, clock: createHurriedClock(), log: silentLog })
}

/** Work that never ends. */
export const patient: Work = createWork(new AbortController().signal)

/** Reads a wallet in a market of one chain. */
export function createReader(
  client: FinanceClient,
  options: { readonly mode?: LensMode; readonly clock?: Clock; readonly morpho?: Address } = {},
) {
  const { mode, clock = slowClock, morpho = MORPHO } = options
  const reader = createPositionReader({
    clients: new Map([[client.chain.id, withLensMode(client, mode)]]),
    deployments: new Map([[client.chain.id, { ...DEPLOYMENT, morpho }]]),
    clock,
  })
  return async (market: Pick<MorphoMarket, 'id'>, wallet: Address, work = patient): Promise<PositionRead> => {
    const place = reader.targets.get(client.chain.id)
    if (place === undefined) throw new Error('Cannot find the chain')
    const { block, markets } = await reader.read(place, { marketIds: [market.id], wallet }, work)
    const [read] = markets
    if (read === undefined) throw new Error('Cannot read a Morpho market: its entry is missing')
    return { block, ...read }
  }
}

/** The position of a reading that must have one. */
export function requirePosition(read: PositionRead): Position {
  if (read.kind !== 'position')
    throw new Error(`Expected a position: ${JSON.stringify(read, (_, value) => String(value))}`)
  return read.position
}

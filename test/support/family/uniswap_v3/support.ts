import { concatHex, type Hex, toFunctionSelector } from 'viem'
import type { LensMode } from '../../../../src/chain/call/lens.ts'
import { createChainClient } from '../../../../src/chain/evm/evm_client.ts'
import type { ChainClient } from '../../../../src/chain/rpc/client.ts'
import type { EnumerableDeployment } from '../../../../src/family/liquidity/enumerable/exchange.ts'
import type {
  BriefPosition,
  ListedPosition,
  Position,
} from '../../../../src/family/liquidity/enumerable/read/position.ts'
import type { EnumerableTarget } from '../../../../src/family/liquidity/enumerable/read/queries.ts'
import { createPositionReader, type PositionReader } from '../../../../src/family/liquidity/enumerable/read/read.ts'
import { computeFigures as computeProtocolFigures } from '../../../../src/family/liquidity/present.ts'
import { EXCHANGE, PROTOCOL } from '../../../../src/family/uniswap_v3/protocol.ts'
import type { FinanceChain, FinanceClient } from '../../../../src/finance/chain.ts'
import type { Steps } from '../../../../src/lib/async/cooperative.ts'
import { createWork, type Work } from '../../../../src/lib/async/work.ts'
import type { Clock } from '../../../../src/lib/clock.ts'
import { type Log, silentLog } from '../../../../src/lib/log.ts'
import { UNISWAP_V3 } from '../../../devnet/addresses.ts'
import { withLensMode } from '../../lens_mode.ts'
import { createHurriedClock, slowClock } from '../../test_clock.ts'

/** The real manager of the devnet. */
export const DEPLOYMENT: EnumerableDeployment = {
  manager: UNISWAP_V3.manager,
  factory: UNISWAP_V3.factory,
  startBlock: 0,
  code: 'uniswap_v3',
}

const PATIENCE_MS = 60_000

/** JSON-RPC methods that were requested, in order, without the check of the chain id. */
export interface Counted {
  readonly client: FinanceClient
  readonly requests: string[]
}

/** Creates a client of the chain that records its requests. */
export function countedClient(chain: FinanceChain, log: Log = silentLog, clock: Clock = createHurriedClock()): Counted {
  const requests: string[] = []
  const counting = (url: string, init: RequestInit): Promise<Response> => {
    const { method } = JSON.parse(String(init.body)) as { readonly method: string }
    if (method !== 'eth_chainId') requests.push(method)
    return fetch(url, init)
  }
  const client = createChainClient({ chain, clock, log, fetch: counting })
  return { client: patiently(client), requests }
}

/** Creates the same client with a long time limit for each read, for slow machines. */
function patiently<Client extends ChainClient>(client: Client): Client {
  const read: ChainClient['read'] = (attempt, options) => client.read(attempt, { ...options, budgetMs: PATIENCE_MS })
  return { ...client, read }
}

/** Creates a reader of one chain, and its only target. */
export function createTestReader(
  client: FinanceClient,
  options: {
    readonly deployments?: readonly EnumerableDeployment[]
    readonly mode?: LensMode
    readonly wholeMax?: number
  } = {},
) {
  const { deployments = [DEPLOYMENT], mode, ...others } = options
  const reader = createPositionReader(EXCHANGE, {
    clients: new Map([[client.chain.id, withLensMode(client, mode)]]),
    deployments: new Map([[client.chain.id, deployments]]),
    clock: slowClock,
    ...others,
  })
  return placed(reader)
}

function placed(reader: PositionReader) {
  const targets: readonly EnumerableTarget[] = [...reader.targets.values()]
  return { reader, targets }
}

/** Runs all steps of a computation at once. */
export function atOnce<T>(work: Steps<T>): T {
  for (;;) {
    const step = work.next()
    if (step.done === true) return step.value
  }
}

/** Decodes whole positions; throws for a brief one. */
export function toWhole(positions: readonly BriefPosition[]): Position[] {
  return positions.map((position) => {
    if ('whole' in position) return (position as ListedPosition).whole()
    if (!('token0' in position)) throw new Error(`Position ${position.tokenId} is brief`)
    return position as Position
  })
}

/** A signal that never fires. */
export const patient: Work = createWork(new AbortController().signal)

/** An oracle that has a source for every token, and burns all gas when it is asked for a price. */
export const BURNING_ORACLE: Hex = concatHex([
  ...(['0x6000', '0x35', '0x60e0', '0x1c'] as const), // the selector
  ...(['0x63', toFunctionSelector('getSourceOfAsset(address)'), '0x14', '0x6010', '0x57'] as const), // to 0x10 for this
  '0xfe', // INVALID
  ...(['0x5b', '0x6001', '0x6000', '0x52', '0x6020', '0x6000', '0xf3'] as const), // 0x10: return 1
])

/** Computes the figures of a position, and what collecting pays; `withdrawn` as its flows tell it. */
export function computeFigures(position: Position, withdrawn?: readonly [bigint, bigint]) {
  return {
    ...computeProtocolFigures(PROTOCOL, position, { withdrawn }),
    owed: PROTOCOL.computeHeldAmounts(position).owed,
  }
}

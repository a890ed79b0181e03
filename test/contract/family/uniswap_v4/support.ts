import { encodeFunctionData, type Hex } from 'viem'
import type { FindOwnedIds } from '../../../../src/family/uniswap_v4/read/ownership.ts'
import type { UniswapV4Target } from '../../../../src/family/uniswap_v4/read/queries.ts'
import { createPositionReader } from '../../../../src/family/uniswap_v4/read/read.ts'
import type { UniswapV4Deployment } from '../../../../src/family/uniswap_v4/table.ts'
import type { FinanceClient } from '../../../../src/finance/chain.ts'
import type { Devnet } from '../../../devnet/mod.ts'
import { POSITION_MANAGER_ABI } from '../../../devnet/uniswap_v4/abi.ts'
import { UNISWAP_V4 } from '../../../devnet/uniswap_v4/addresses.ts'
import type { SeenRequest } from '../../../support/rpc.ts'
import { slowClock } from '../../../support/test_clock.ts'

/** The real managers of the devnet. */
export const DEPLOYMENT: UniswapV4Deployment = {
  positionManager: UNISWAP_V4.positionManager,
  poolManager: UNISWAP_V4.poolManager,
  startBlock: 0,
}

/** Creates a finder that returns every id minted up to a block. */
export function createFindEveryId({ rpc }: Devnet): FindOwnedIds {
  const data = encodeFunctionData({ abi: POSITION_MANAGER_ABI, functionName: 'nextTokenId' })
  return async (_, { hash }) => {
    const next = await rpc.call<Hex>('eth_call', { to: UNISWAP_V4.positionManager, data }, { blockHash: hash })
    return Array.from({ length: Number(next) - 1 }, (_each, index) => BigInt(index + 1))
  }
}

/** Creates a reader of one chain, with its only target. */
export function createTestReader(
  client: FinanceClient,
  options: {
    readonly find: FindOwnedIds
    readonly deployment?: UniswapV4Deployment
  },
) {
  const { deployment = DEPLOYMENT, ...others } = options
  const reader = createPositionReader({
    clients: new Map([[client.chain.id, client]]),
    deployments: new Map([[client.chain.id, [deployment]]]),
    clock: slowClock,
    ...others,
  })
  const places: readonly UniswapV4Target[] = [...reader.targets.values()]
  return { reader, places }
}

/** Estimates the gas of a call with its overrides at the newest block, with the parameters that an endpoint got. */
export async function gasOfCall({ rpc }: Devnet, request: SeenRequest | undefined): Promise<number> {
  const [call, , stateOverrides] = request?.params ?? []
  const options = { stateOverrides, tracer: 'callTracer', tracerConfig: { onlyTopCall: true } }
  const gas = '0x2faf080'
  const traced = await rpc.call<{ gasUsed: Hex }>('debug_traceCall', { gas, ...(call as object) }, 'latest', options)
  return Number(traced.gasUsed)
}

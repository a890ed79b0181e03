import type { Address } from 'viem'
import type { Chain } from '../../../src/chain/chain.ts'
import type { ChainClient } from '../../../src/chain/client.ts'
import { createChainClient } from '../../../src/chain/evm.ts'
import type { MorphoBlueDeployment } from '../../../src/family/morpho_blue/deployments.ts'
import type { Position, PositionRead } from '../../../src/family/morpho_blue/position.ts'
import { createPositionReader, type RungName } from '../../../src/family/morpho_blue/read.ts'
import { type Clock, systemClock } from '../../../src/lib/clock.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { TOKENS } from '../../devnet/addresses.ts'
import type { Devnet } from '../../devnet/mod.ts'
import { MORPHO, type MorphoMarket } from '../../devnet/morpho_blue/calls.ts'

/** Morpho where Ethereum has it. */
export const DEPLOYMENT: MorphoBlueDeployment = { morpho: MORPHO, startBlock: 0 }

/** The devnet as configuration describes a chain, with a feed for every token; nothing is reused between reads. */
export function chainOf(devnet: Devnet, overrides: Partial<Chain> = {}): Chain {
  return {
    id: devnet.chainId,
    name: 'Devnet',
    rpcUrls: [devnet.rpcUrl],
    blockTimeMs: 0,
    finality: { depth: 0 },
    multicall3: devnet.addresses.multicall3,
    prices: {
      usdFeeds: Object.fromEntries(
        Object.values(TOKENS).map(({ address, feed }) => [address, { feed, heartbeatSec: 86_400 }]),
      ),
      stablecoins: [],
    },
    spamTokens: [],
    ...overrides,
  }
}

/** A client of the chain. */
export function clientOf(chain: Chain): ChainClient {
  return createChainClient({ chain, clock: systemClock, log: silentLog })
}

/** A signal that never fires. */
export const patient: AbortSignal = new AbortController().signal

/** Reads a wallet in a market of one chain. */
export function readerOf(
  client: ChainClient,
  options: { readonly rungs?: readonly RungName[]; readonly clock?: Clock; readonly morpho?: Address } = {},
) {
  const { rungs, clock = systemClock, morpho = MORPHO } = options
  const reader = createPositionReader({
    clients: new Map([[client.chain.id, client]]),
    deployments: new Map([[client.chain.id, { ...DEPLOYMENT, morpho }]]),
    clock,
    ...(rungs === undefined ? {} : { rungs }),
  })
  return (market: Pick<MorphoMarket, 'id'>, wallet: Address, signal = patient): Promise<PositionRead> => {
    const place = reader.places.get(client.chain.id)
    if (place === undefined) throw new Error('Cannot find the chain')
    return reader.read(place, { marketId: market.id, wallet, signal })
  }
}

/** The position of a reading that must have one. */
export function positionOf(read: PositionRead): Position {
  if (read.kind !== 'position')
    throw new Error(`Expected a position: ${JSON.stringify(read, (_, value) => String(value))}`)
  return read.position
}

import type { Address } from 'viem'
import type { Chain } from '../../../src/chain/chain.ts'
import type { ChainClient } from '../../../src/chain/client.ts'
import { createChainClient } from '../../../src/chain/evm.ts'
import type { AaveV3Deployment } from '../../../src/family/aave_v3/deployments.ts'
import type { ChainRead, Position } from '../../../src/family/aave_v3/position.ts'
import { createLendingReader, type RungName } from '../../../src/family/aave_v3/read.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { MARKETS, type MarketName } from '../../devnet/aave_v3/addresses.ts'
import type { Devnet } from '../../devnet/mod.ts'

/** The markets of the devnet as configuration describes them; the last one is a 3.0. */
export const DEPLOYMENTS: readonly AaveV3Deployment[] = Object.entries(MARKETS).map(([market, { provider }]) => ({
  market,
  poolAddressesProvider: provider,
  startBlock: 0,
}))

/** The devnet as configuration describes a chain; nothing is reused between reads. */
export function chainOf(devnet: Devnet, overrides: Partial<Chain> = {}): Chain {
  return {
    id: devnet.chainId,
    name: 'Devnet',
    rpcUrls: [devnet.rpcUrl],
    blockTimeMs: 0,
    finality: { depth: 0 },
    multicall3: devnet.addresses.multicall3,
    prices: { usdFeeds: {}, stablecoins: [] },
    spamTokens: [],
    ...overrides,
  }
}

/** A client of the chain. */
export function clientOf(chain: Chain): ChainClient {
  return createChainClient({ chain, clock: systemClock, log: silentLog })
}

interface Asked {
  readonly deployments?: readonly AaveV3Deployment[]
  readonly rungs?: readonly RungName[]
}

/** What wallets have on one chain. */
export async function readWallets(
  client: ChainClient,
  wallets: readonly Address[],
  { deployments = DEPLOYMENTS, rungs }: Asked = {},
): Promise<ChainRead> {
  const { id } = client.chain
  const reader = createLendingReader({
    clients: new Map([[id, client]]),
    deployments: new Map([[id, deployments]]),
    clock: systemClock,
    ...(rungs === undefined ? {} : { rungs }),
  })
  const [read] = await reader.read(wallets, { places: [...reader.places.values()], signal: patient })
  if (read === undefined) throw new Error('Cannot read the devnet')
  return read
}

/** What a wallet has in a market; fails where it has nothing. */
export function positionIn(
  read: ChainRead,
  place: { readonly wallet: Address; readonly market: MarketName },
): Position {
  const found = read.wallets
    .find(({ wallet }) => wallet === place.wallet)
    ?.positions.find(({ market }) => market === place.market)
  if (found === undefined) throw new Error(`Cannot find anything of ${place.wallet} in ${place.market}`)
  return found
}

/** A signal that never fires. */
export const patient: AbortSignal = new AbortController().signal

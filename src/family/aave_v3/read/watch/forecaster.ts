import { type Address, type Hex, toFunctionSelector } from 'viem'
import { readMulticall } from '../../../../chain/call/many/multicall.ts'
import { encodeCall, tryDecodeUint } from '../../../../chain/call/words.ts'
import type { Clock } from '../../../../lib/clock.ts'
import { getLendingValue } from '../../../lending/watched.ts'
import type { FigureForecast, FigureForecaster, WatchTarget } from '../../../watch.ts'
import { createChangeFilter, listWallets } from '../../event/watch.ts'
import { type AccountMemo, forecast } from '../../math/forecast.ts'
import type { AaveV3Deployment } from '../../table/deployments.ts'
import type { MarketContracts } from './market_contracts.ts'

const GET_ASSET_PRICE = toFunctionSelector('getAssetPrice(address asset)')

/** Prices of the reserves of each market, market units for a whole token. */
type Prices = ReadonlyMap<string, ReadonlyMap<Address, bigint>>

const UNPRICED: ReadonlyMap<Address, bigint> = new Map()

/** Creates a forecaster of accounts' figures from the prices of their reserves. */
export function createForecaster(options: {
  readonly deployments: ReadonlyMap<number, readonly AaveV3Deployment[]>
  readonly markets: MarketContracts
  readonly clock: Clock
}): FigureForecaster {
  const { deployments, markets, clock } = options

  async function readPrices(
    assets: ReadonlyMap<string, ReadonlySet<Address>>,
    { client, block }: WatchTarget,
    signal: AbortSignal,
  ): Promise<Prices> {
    const facts = await markets.read(client, deployments.get(client.chain.id) ?? [], signal)
    const requests = [...assets].flatMap(([market, marketAssets]) => {
      const source = facts.get(market)?.source
      return source?.kind === 'aave_market'
        ? [...marketAssets].map((asset) => ({ market, asset, to: source.oracle }))
        : []
    })
    const prices = new Map<string, Map<Address, bigint>>()
    if (requests.length === 0) return prices
    const calls = requests.map(({ to, asset }) => ({ to, data: encodeCall(GET_ASSET_PRICE, asset) }))
    const { results } = await client.read(
      (endpoint, within) => readMulticall(endpoint, { calls, block, isLight: true, clock }, within),
      { signal, past: block, priority: 'background', isBundled: true },
    )
    for (const [index, { market, asset }] of requests.entries()) {
      const price = tryDecodeUint(results[index]) ?? 0n
      if (price === 0n) continue
      const marketPrices = prices.get(market) ?? new Map<Address, bigint>()
      prices.set(market, marketPrices.set(asset, price))
    }
    return prices
  }

  return {
    async readShared(memos, target, signal) {
      return createForecast(await readPrices(listAssets(memos as Iterable<AccountMemo | undefined>), target, signal))
    },
    filters: (chainId) => [createChangeFilter(markets.getLastTargets(chainId))],
    toTouchedCheck(logs, chainId) {
      const wallets = listWallets(logs, markets.getLastTargets(chainId))
      return ({ wallet = '' }) => wallets.size > 0 && wallets.has(wallet.toLowerCase() as Hex)
    },
  }
}

/** Reserves of these accounts, by market. */
function listAssets(memos: Iterable<AccountMemo | undefined>): ReadonlyMap<string, ReadonlySet<Address>> {
  const assets = new Map<string, Set<Address>>()
  for (const memo of memos) {
    if (memo === undefined) continue
    const marketAssets = assets.get(memo.market) ?? new Set<Address>()
    if (marketAssets.size === 0) assets.set(memo.market, marketAssets)
    for (const { asset } of memo.legs) marketAssets.add(asset)
  }
  return assets
}

function createForecast(prices: Prices): FigureForecast {
  return {
    estimate(memo, figure) {
      const account = memo as AccountMemo | undefined
      if (account === undefined) return undefined
      const totals = forecast(account, prices.get(account.market) ?? UNPRICED)
      return totals === undefined ? undefined : getLendingValue(totals, figure)
    },
  }
}

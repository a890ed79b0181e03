import { type Address, type Hex, toFunctionSelector } from 'viem'
import { readMulticall } from '../../chain/call/many/multicall.ts'
import { encodeCall, tryDecodeUint } from '../../chain/call/words.ts'
import { ContractUnresponsiveError } from '../../chain/rpc/client.ts'
import { allOrAbort, mapChunks } from '../../lib/async/parallel.ts'
import type { Work } from '../../lib/async/work.ts'
import type { Clock } from '../../lib/clock.ts'
import { UnavailableError } from '../../lib/error.ts'
import { groupBy } from '../../lib/group_by.ts'
import { getLendingValue, WATCHED_UNKNOWN } from '../lending/watched.ts'
import type {
  ConfirmedFigures,
  FigureForecast,
  FigureForecaster,
  SubjectEvent,
  Watcher,
  WatchTarget,
} from '../watch.ts'
import { createChangeFilter, listEvents, listWallets } from './event/watch.ts'
import { type AccountMemo, forecast } from './math/forecast.ts'
import { EMPTY_CONFIRMED, toConfirmedFigures } from './present/present.ts'
import { createLendingReader } from './read/read.ts'
import { createMarketContracts, type MarketContracts } from './read/read_market.ts'
import type { AaveV3Deployment } from './table.ts'

/** Wallets of one reading, as many as a batch of the routes may have, and concurrent readings. */
const PIECES = { size: 500, runningMax: 3 } as const

/** Maximum number of wallets whose calls are bundled with other calls at the block. */
const BUNDLED_WALLETS_MAX = 160

/** Creates the reader of wallets in markets, for triggers. */
export function createWatcher(options: Parameters<typeof createLendingReader>[0]): Watcher {
  const { deployments, clock } = options
  const reader = createLendingReader(options)
  const markets = createMarketContracts(clock)

  /** Figures of wallets in one market, in their order. */
  async function readMarket(
    deployment: AaveV3Deployment,
    { wallets, target: { client, block } }: { readonly wallets: readonly Address[]; readonly target: WatchTarget },
    work: Work,
  ): Promise<ConfirmedFigures[]> {
    const bundling = wallets.length <= BUNDLED_WALLETS_MAX && { isBundled: true as const }
    const targets = [{ client, deployments: [deployment], block, priority: 'background' as const, ...bundling }]
    const [read] = await reader.read(wallets, { targets, work })
    const positionsByWallet = new Map(
      (read?.wallets ?? []).map(({ wallet, positions: [position] }) => [wallet, position]),
    )
    const unvalued = new Set((read?.unanswerable ?? []).map(({ wallet }) => wallet))
    return wallets.map((wallet) => {
      const position = positionsByWallet.get(wallet)
      if (position !== undefined) return toConfirmedFigures(position)
      return unvalued.has(wallet) ? WATCHED_UNKNOWN : EMPTY_CONFIRMED
    })
  }

  async function confirmMarket(
    deployment: AaveV3Deployment,
    { wallets, target }: { readonly wallets: readonly Address[]; readonly target: WatchTarget },
    work: Work,
  ): Promise<readonly (readonly [string, ConfirmedFigures])[]> {
    try {
      const read = (piece: readonly Address[], within: Work) =>
        readMarket(deployment, { wallets: piece, target }, within)
      const confirmed = await mapChunks(wallets, PIECES, read, work)
      return wallets.map((wallet, index) => [getKey(deployment.market, wallet), confirmed[index] ?? WATCHED_UNKNOWN])
    } catch (error) {
      // A market that does not answer does not stop the others.
      if (!(error instanceof UnavailableError) || !(error.cause instanceof ContractUnresponsiveError)) throw error
      return wallets.map((wallet) => [getKey(deployment.market, wallet), WATCHED_UNKNOWN])
    }
  }

  return {
    chainIds: new Set(reader.targets.keys()),
    async confirm(subjects, target, work) {
      const here = reader.targets.get(target.client.chain.id)?.deployments ?? []
      const byMarket = groupBy(subjects, ({ market_id }) => market_id)
      const tasks = here.map((deployment) => (shared: Work) => {
        const marketSubjects = byMarket.get(deployment.market) ?? []
        const wallets = [...new Set(marketSubjects.map(({ wallet }) => wallet as Address))]
        return confirmMarket(deployment, { wallets, target }, shared)
      })
      const figuresByKey = new Map((await allOrAbort(tasks, work)).flat())
      return subjects.map(({ market_id = '', wallet = '' }) => figuresByKey.get(getKey(market_id, wallet)) ?? 'gone')
    },
    forecaster: createForecaster({ deployments, markets, clock }),
    events: {
      filters: (chainId) => [createChangeFilter(markets.getLastTargets(chainId))],
      async read(logs, subjects, { client }, work) {
        if (logs.length === 0) return []
        const facts = await markets.read(client, deployments.get(client.chain.id) ?? [], work)
        const byKey = new Map(
          subjects.map((subject) => [getKey(subject['market_id'] ?? '', subject['wallet'] ?? ''), subject]),
        )
        const logsByPosition = new Map(logs.map((log) => [`${log.blockNumber}:${log.logIndex}`, log]))
        const events = [...facts].flatMap(([market, { target }]) =>
          listEvents(target, logs).flatMap(({ wallet, kind: type, block, ...event }): SubjectEvent[] => {
            const subject = byKey.get(getKey(market, wallet))
            const log = logsByPosition.get(`${block}:${event.logIndex}`)
            if (subject === undefined || log === undefined) return []
            const { blockNumber, blockHash, transactionHash, logIndex } = log
            return [{ subject, type, blockNumber, blockHash, transactionHash, logIndex }]
          }),
        )
        return events.sort((a, b) => a.blockNumber - b.blockNumber || a.logIndex - b.logIndex)
      },
    },
  }
}

function getKey(market: string, wallet: string): string {
  return `${market}:${wallet.toLowerCase()}`
}

const GET_ASSET_PRICE = toFunctionSelector('getAssetPrice(address asset)')

/** Prices of the reserves of each market, market units for a whole token. */
type Prices = ReadonlyMap<string, ReadonlyMap<Address, bigint>>

const UNPRICED: ReadonlyMap<Address, bigint> = new Map()

/** Creates a forecaster of accounts' figures from the prices of their reserves. */
function createForecaster(options: {
  readonly deployments: ReadonlyMap<number, readonly AaveV3Deployment[]>
  readonly markets: MarketContracts
  readonly clock: Clock
}): FigureForecaster {
  const { deployments, markets, clock } = options

  async function readPrices(
    assets: ReadonlyMap<string, ReadonlySet<Address>>,
    { client, block }: WatchTarget,
    work: Work,
  ): Promise<Prices> {
    const facts = await markets.read(client, deployments.get(client.chain.id) ?? [], work)
    const requests = [...assets].flatMap(([market, marketAssets]) => {
      const to = facts.get(market)?.oracle
      return to === undefined ? [] : [...marketAssets].map((asset) => ({ market, asset, to }))
    })
    const prices = new Map<string, Map<Address, bigint>>()
    if (requests.length === 0) return prices
    const calls = requests.map(({ to, asset }) => ({ to, data: encodeCall(GET_ASSET_PRICE, asset) }))
    const { results } = await client.read(
      (endpoint, within) => readMulticall(endpoint, { calls, block, isLight: true, clock }, within),
      { work, past: block, priority: 'background', isBundled: true },
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
    async readShared(memos, target, work) {
      return createForecast(await readPrices(listAssets(memos as Iterable<AccountMemo | undefined>), target, work))
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

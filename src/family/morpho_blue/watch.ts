import { type Address, type Hex, zeroAddress } from 'viem'
import type { FinanceChain } from '../../finance/chain.ts'
import { computeUsdPrice } from '../../finance/price/price.ts'
import { toToken } from '../../finance/token/token.ts'
import { mapChunks } from '../../lib/async/parallel.ts'
import type { Work } from '../../lib/async/work.ts'
import { UnavailableError } from '../../lib/error.ts'
import { groupBy } from '../../lib/group_by.ts'
import { pow10 } from '../../lib/number/fixed_point.ts'
import { rational } from '../../lib/number/rational.ts'
import { EMPTY_LENDING, getLendingValue, WATCHED_UNKNOWN } from '../lending/watched.ts'
import type { ConfirmedFigures, FigureForecast, FigureForecaster, Watcher, WatchTarget } from '../watch.ts'
import { createChangeFilter, getPositionKey, listChangedPositions } from './event.ts'
import { forecast, type MarketNow } from './math/market.ts'
import type { RawMarket, RawRead } from './math/state.ts'
import { EMPTY_CONFIRMED, type ForecastMemo, toConfirmedFigures } from './present/list.ts'
import type { MarketRead } from './read/position.ts'
import { createPositionReader, type PositionReader } from './read/read.ts'
import type { MorphoBlueDeployment } from './table.ts'

/** Wallets that are read concurrently: their calls are bundled, eight in each request. */
const PIECES = { size: 64, runningMax: 1 } as const
/** Time for one wallet over all attempts. */
const BUDGET_MS = 4_500

/** A wallet and its watched markets. */
interface WatchedMarkets {
  readonly wallet: Address
  readonly marketIds: readonly Hex[]
}

/** Creates the reader of wallets in markets, for triggers. */
export function createWatcher(options: Parameters<typeof createPositionReader>[0]): Watcher {
  const { deployments } = options
  const reader = createPositionReader(options)

  async function readWallet(watched: WatchedMarkets, { client, block }: WatchTarget, work: Work) {
    const deployment = deployments.get(client.chain.id)
    if (deployment === undefined) return []
    const target = { client, deployments: [deployment], block }
    const { markets } = await client.read(
      (endpoint, within) => reader.ask(endpoint, { ...target, walletQuery: watched }, within),
      {
        work,
        budgetMs: BUDGET_MS,
        past: block,
        priority: 'background',
        isBundled: true,
      },
    )
    return watched.marketIds.map(
      (id, index) => [getPositionKey(id, watched.wallet), toFigures(markets[index])] as const,
    )
  }

  /** A wallet whose market contradicts itself does not stop the others; if all wallets fail, the chain has failed. */
  async function readWallets(watched: readonly WatchedMarkets[], target: WatchTarget, work: Work) {
    const outcomes = await Promise.allSettled(watched.map((each) => readWallet(each, target, work)))
    const failures = outcomes.flatMap((end) => (end.status === 'rejected' ? [end.reason as unknown] : []))
    const severe = failures.find((reason) => !(reason instanceof UnavailableError))
    if (severe !== undefined || failures.length === watched.length) throw severe ?? failures[0]
    return outcomes.map((end) => (end.status === 'fulfilled' ? end.value : []))
  }

  return {
    chainIds: new Set(reader.targets.keys()),
    async confirm(subjects, target, work) {
      const wallets = groupBy(subjects, ({ wallet = '' }) => wallet)
      const watched = [...wallets].map(([wallet, own]) => ({
        wallet: wallet as Address,
        marketIds: [...new Set(own.map(({ market_id }) => market_id as Hex))],
      }))
      const read = (piece: readonly WatchedMarkets[], within: Work) => readWallets(piece, target, within)
      const figuresByKey = new Map((await mapChunks(watched, PIECES, read, work)).flat())
      return subjects.map(
        ({ market_id = '', wallet = '' }) => figuresByKey.get(getPositionKey(market_id, wallet)) ?? WATCHED_UNKNOWN,
      )
    },
    forecaster: createForecaster({ deployments, reader }),
  }
}

function toFigures(read: MarketRead | undefined): ConfirmedFigures | 'gone' {
  if (read === undefined) return WATCHED_UNKNOWN
  if (read.kind !== 'absent') return toConfirmedFigures(read)
  return read.reason === 'no_market' ? 'gone' : EMPTY_CONFIRMED
}

/** Creates a forecaster of positions' figures from the totals, oracles and loan tokens of their markets. */
function createForecaster(options: {
  readonly deployments: ReadonlyMap<number, MorphoBlueDeployment>
  readonly reader: Pick<PositionReader, 'askRaw'>
}): FigureForecaster {
  const { deployments, reader } = options
  /** Fee recipients by chain: for this wallet the lens returns every market, also without a position. */
  const feeRecipients = new Map<number, Address>()

  async function read(marketIds: readonly Hex[], target: WatchTarget, work: Work): Promise<RawRead['entries']> {
    const { client, block } = target
    const deployment = deployments.get(client.chain.id)
    if (deployment === undefined || marketIds.length === 0) return []
    const at = { client, deployments: [deployment], block }
    const readFor = (wallet: Address) =>
      client.read(
        (endpoint, within) => reader.askRaw(endpoint, { ...at, walletQuery: { marketIds, wallet } }, within),
        {
          work,
          past: block,
          priority: 'background',
          isBundled: true,
        },
      )
    const recipient = feeRecipients.get(client.chain.id) ?? zeroAddress
    const first = await readFor(recipient)
    feeRecipients.set(client.chain.id, first.feeRecipient)
    return first.feeRecipient === recipient ? first.entries : (await readFor(first.feeRecipient)).entries
  }

  return {
    async readShared(memos, target, work) {
      const ids = new Set<Hex>()
      for (const memo of memos as Iterable<ForecastMemo>) if (typeof memo === 'object') ids.add(memo.marketId)
      const marketIds = [...ids]
      const entries = await read(marketIds, target, work)
      return createForecast(
        new Map(
          entries.flatMap((entry, index) => {
            const [id, now] = [marketIds[index], typeof entry === 'string' ? undefined : toMarketNow(entry, target)]
            return id === undefined || now === undefined ? [] : [[id, now]]
          }),
        ),
      )
    },
    filters(chainId) {
      const morpho = deployments.get(chainId)?.morpho
      return morpho === undefined ? [] : [createChangeFilter(morpho)]
    },
    toTouchedCheck(logs, chainId) {
      const morpho = deployments.get(chainId)?.morpho
      const changed = morpho === undefined ? new Set() : listChangedPositions(logs, morpho)
      return ({ market_id = '', wallet = '' }) => changed.size > 0 && changed.has(getPositionKey(market_id, wallet))
    },
  }
}

/** The current state of a market; undefined if its interest cannot be accrued. */
function toMarketNow(raw: RawMarket, { client: { chain }, block }: WatchTarget): MarketNow | undefined {
  const market = raw.params.irm === zeroAddress ? raw.market : raw.accrued?.market
  if (market === undefined) return undefined
  return { market, oraclePrice: raw.oraclePrice, loanUsd: computeLoanUsd(raw, chain, block.timestampSec) }
}

function computeLoanUsd({ loan, loanUsd: answers }: RawMarket, chain: FinanceChain, blockTimestampSec: bigint) {
  const { decimals } = toToken(loan)
  const outcome = computeUsdPrice(loan.address, { chain, answers, blockTimestampSec })
  if (decimals === undefined || outcome.kind === 'missing') return undefined
  return rational(outcome.price.units, pow10(outcome.price.scale + decimals))
}

function createForecast(markets: ReadonlyMap<Hex, MarketNow>): FigureForecast {
  return {
    estimate(memo, figure) {
      const watched = memo as ForecastMemo
      if (watched === 'nothing') return getLendingValue(EMPTY_LENDING, figure)
      const now = watched && markets.get(watched.marketId)
      const figures = watched && now && forecast(watched, now)
      return figures && getLendingValue(figures, figure)
    },
  }
}

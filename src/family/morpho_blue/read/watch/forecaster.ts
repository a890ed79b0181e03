import { type Address, type Hex, zeroAddress } from 'viem'
import type { FinanceChain } from '../../../../finance/chain.ts'
import { computeUsdPrice } from '../../../../finance/price/price.ts'
import { toToken } from '../../../../finance/token/token.ts'
import { pow10 } from '../../../../lib/number/fixed_point.ts'
import { rational } from '../../../../lib/number/rational.ts'
import { EMPTY_LENDING, getLendingValue } from '../../../lending/watched.ts'
import type { FigureForecast, FigureForecaster, WatchTarget } from '../../../watch.ts'
import { createChangeFilter, getPositionKey, listChangedPositions } from '../../event/watch.ts'
import { forecast, type MarketNow } from '../../math/market.ts'
import type { RawMarket, RawRead } from '../../math/state.ts'
import type { ForecastMemo } from '../../present/watched.ts'
import type { MorphoBlueDeployment } from '../../table/deployments.ts'
import type { PositionReader } from '../read.ts'

/** Creates a forecaster of positions' figures from the totals, oracles and loan tokens of their markets. */
export function createForecaster(options: {
  readonly deployments: ReadonlyMap<number, MorphoBlueDeployment>
  readonly reader: Pick<PositionReader, 'askRaw'>
}): FigureForecaster {
  const { deployments, reader } = options
  /** Fee recipients by chain: for this wallet the lens returns every market, also without a position. */
  const feeRecipients = new Map<number, Address>()

  async function read(
    marketIds: readonly Hex[],
    target: WatchTarget,
    signal: AbortSignal,
  ): Promise<RawRead['entries']> {
    const { client, block } = target
    const deployment = deployments.get(client.chain.id)
    if (deployment === undefined || marketIds.length === 0) return []
    const at = { client, deployments: [deployment], block }
    const readFor = (wallet: Address) =>
      client.read(
        (endpoint, within) => reader.askRaw(endpoint, { ...at, walletQuery: { marketIds, wallet } }, within),
        {
          signal,
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
    async readShared(memos, target, signal) {
      const ids = new Set<Hex>()
      for (const memo of memos as Iterable<ForecastMemo>) if (typeof memo === 'object') ids.add(memo.marketId)
      const marketIds = [...ids]
      const entries = await read(marketIds, target, signal)
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

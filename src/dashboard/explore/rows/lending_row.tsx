import type { Answer } from '../../lib/api.ts'
import { chainName } from '../../lib/catalog.ts'
import { formatRatioAsPercent } from '../../lib/decimal.ts'
import { nameProtocol } from '../../lib/protocol.ts'
import type {
  AaveV3Calculations,
  AaveV3Position,
  KaminoPosition,
  MarketPosition,
  MorphoCalculations,
  MorphoPosition,
} from '../../lib/shapes.ts'
import { AaveCard, formatMarketName, watchAave } from '../lending/aave.tsx'
import { formatHealthFactor, getMood } from '../lending/gauge.tsx'
import { KaminoPositionCard, nameMarket, watchKamino } from '../lending/kamino.tsx'
import { MarketCard, watchMarket } from '../lending/market.tsx'
import { MorphoCard, watchMorpho } from '../lending/morpho.tsx'
import { computeCushion } from '../liquidity/scale.ts'
import type { Context } from '../page.tsx'
import type { RequestedPart } from '../requests/answers.ts'
import type { RowRate } from './rate.ts'
import type { Row, RowState, RowToken } from './row.ts'
import { sumCounted } from './row.ts'

interface Lists {
  readonly data: readonly {
    readonly wallet: string
    readonly positions: readonly unknown[]
    readonly calculations: readonly unknown[]
  }[]
}

/** Converts the positions of a list of Aave, Morpho or Kamino. */
export function toLendingRows(part: RequestedPart, context: Context): Row[] {
  const { answer, family, chainId } = part
  if (!answer?.ok) return []
  return (answer.body as Lists).data.flatMap(({ wallet, positions, calculations }) =>
    positions.map((position, index) => {
      const owner = { chainId, wallet }
      const figures = calculations[index]
      const listed = { owner, answer, context }
      if (family === 'aave') return toAaveRow(position as AaveV3Position, figures as AaveV3Calculations, listed)
      if (family === 'morpho') return toMorphoRow(position as MorphoPosition, figures as MorphoCalculations, listed)
      if (family === 'lending')
        return toMarketRow(position as MarketPosition, figures as AaveV3Calculations | null, {
          ...listed,
          protocol: part.protocol ?? '',
        })
      return toKaminoRow(position as KaminoPosition, figures as AaveV3Calculations, listed)
    }),
  )
}

interface Listed {
  readonly owner: { readonly chainId: number; readonly wallet: string }
  readonly answer: Answer
  readonly context: Context
}

function toAaveRow(position: AaveV3Position, figures: AaveV3Calculations, { owner, context }: Listed): Row {
  const { marketId, netWorthUSD, healthFactor } = position
  return {
    ...describeSides(position),
    key: `aave ${owner.chainId} ${marketId}`,
    tag: '',
    where: `Aave V3 ${formatMarketName(marketId, owner.chainId)}, ${chainName(context.catalog, owner.chainId)}`,
    value: netWorthUSD,
    isPartial: false,
    state: describeHealth(healthFactor, position.liquidatable_because),
    rate: toNetYield(figures.netAPY),
    watched: watchAave(position, owner),
    name: { chainId: owner.chainId, subject: { family: 'aave-v3', market_id: marketId } },
    draw: () => <AaveCard position={position} figures={figures} owner={owner} context={context} />,
  }
}

/** Converts a position of any family of the common shape. */
function toMarketRow(
  position: MarketPosition,
  figures: AaveV3Calculations | null,
  { owner, context, protocol }: Listed & { readonly protocol: string },
): Row {
  const { marketId, netWorthUSD, healthFactor, reason } = position
  return {
    ...describeSides(position),
    key: `${protocol} ${owner.chainId} ${marketId}`,
    tag: '',
    where: `${nameProtocol(protocol)} ${marketId}, ${chainName(context.catalog, owner.chainId)}`,
    value: netWorthUSD,
    isPartial: false,
    state:
      healthFactor === null
        ? { mood: 'warn', text: reason ?? 'no health factor', urgency: 1 }
        : describeHealth(healthFactor, position.liquidatable_because),
    rate: figures === null ? undefined : toNetYield(figures.netAPY),
    watched: watchMarket(position, { protocol, owner }),
    name: { chainId: owner.chainId, subject: { family: protocol, market_id: marketId } },
    draw: () => (
      <MarketCard protocol={protocol} position={position} figures={figures} owner={owner} context={context} />
    ),
  }
}

function toKaminoRow(position: KaminoPosition, figures: AaveV3Calculations, { owner, context }: Listed): Row {
  const { obligation_address, netWorthUSD, healthFactor, marketKnown } = position
  return {
    ...describeSides(position),
    key: `kamino ${obligation_address}`,
    tag: '',
    where: `Kamino ${nameMarket(position)}${marketKnown ? '' : ', in no table'}`,
    // The prices in a market of no table are its maker's.
    value: marketKnown ? netWorthUSD : null,
    isPartial: false,
    state: describeHealth(healthFactor, position.liquidatable_because),
    rate: toNetYield(figures.netAPY),
    watched: watchKamino(position, owner.wallet),
    name: { chainId: owner.chainId, subject: { obligation_address } },
    draw: () => <KaminoPositionCard position={position} figures={figures} wallet={owner.wallet} context={context} />,
  }
}

function toMorphoRow(
  position: MorphoPosition,
  figures: MorphoCalculations | null,
  { owner, answer, context }: Listed,
): Row {
  const { marketId, collateralSymbol, loanSymbol, lltv, netWorthUSD, reason } = position
  const where = `Morpho Blue ${formatRatioAsPercent(lltv, 1)}, ${chainName(context.catalog, owner.chainId)}`
  return {
    kind: 'lending',
    what: collateralSymbol === null ? loanSymbol : `${collateralSymbol} / ${loanSymbol}`,
    tokens: [...(collateralSymbol === null ? [] : [toToken(collateralSymbol)]), toToken(loanSymbol)],
    profit: undefined,
    fees: undefined,
    key: `morpho ${owner.chainId} ${marketId}`,
    tag: '',
    where,
    value: netWorthUSD,
    isByMarket: true,
    isPartial: false,
    state:
      figures === null
        ? { mood: 'warn', text: reason ?? 'no figures', urgency: 1 }
        : describeHealth(figures.healthFactor, position.liquidatable_because),
    rate: figures === null ? undefined : toNetYield(figures.netAPY),
    watched: figures === null ? undefined : watchMorpho(position, { ...owner, figures }),
    name: { chainId: owner.chainId, subject: { family: 'morpho-blue', market_id: marketId } },
    draw: (held) => (
      <MorphoCard
        counted={sumCounted(held)}
        position={position}
        figures={figures as MorphoCalculations}
        owner={owner}
        answer={answer}
        context={context}
      />
    ),
  }
}

function toNetYield(ratio: string): RowRate {
  return { ratio, words: 'Net yield a year' }
}

function toToken(symbol: string): RowToken {
  return { id: symbol, symbol }
}

interface SideAsset {
  readonly symbol?: string
  readonly address?: string
}

type Sides = Pick<Row, 'kind' | 'what' | 'tokens' | 'profit' | 'fees'>

/** Names a position of several assets by those that it supplies, and those that it owes. */
function describeSides({
  suppliedAssets,
  borrowedAssets,
}: {
  readonly suppliedAssets: readonly SideAsset[]
  readonly borrowedAssets: readonly SideAsset[]
}): Sides {
  const list = (assets: readonly SideAsset[]) => {
    const symbols = [...new Set(assets.map(({ symbol }) => symbol))]
    return symbols.length > 2 ? `${symbols.length} tokens` : symbols.join(' + ')
  }
  const sides = [suppliedAssets, borrowedAssets].filter(({ length }) => length > 0)
  const tokens = sides.flatMap(([first]) => {
    const { address, symbol = '?' } = first ?? {}
    return [{ id: address ?? symbol, symbol }]
  })
  return { kind: 'lending', what: sides.map(list).join(' / '), tokens, profit: undefined, fees: undefined }
}

/** Says a health factor, and how far the collateral may fall against the debt. */
export function describeHealth(healthFactor: string, because: readonly string[] = []): RowState {
  if (!/^\d/.test(healthFactor)) return { mood: 'good', text: 'no debt', urgency: 0 }
  const cushion = computeCushion(healthFactor)
  const mood = getMood(healthFactor)
  const text = `health ${formatHealthFactor(healthFactor)}`
  if (because.length > 0) return { mood: 'bad', text: `${text}, can be liquidated`, urgency: 5 }
  const room = `−${formatRatioAsPercent(cushion.toFixed(6), 1)}`
  return { mood, text: `${text}, ${room}`, urgency: mood === 'bad' ? 4 : mood === 'warn' ? 1.5 : 0.5 }
}

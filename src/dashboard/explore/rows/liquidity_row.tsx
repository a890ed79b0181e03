import { shortenAddress } from '../../lib/address.ts'
import type { Liquidity } from '../../lib/catalog.ts'
import { chainName } from '../../lib/catalog.ts'
import { formatRatioAsPercent } from '../../lib/decimal.ts'
import { nameProtocol } from '../../lib/protocol.ts'
import type { Position } from '../../lib/shapes.ts'
import { describePool, PositionCard, watchRange } from '../liquidity/card.tsx'
import { computePriceRoom, getTicks, isFullRange, rangeScale } from '../liquidity/scale.ts'
import type { Context } from '../page.tsx'
import { describeRate } from './rate.ts'
import type { Row, RowState } from './row.ts'

interface Listed {
  readonly served: Liquidity
  readonly atSec: number
  readonly context: Context
}

/** Converts a position of a list of liquidity. */
export function toLiquidityRow(position: Position, { served, atSec, context }: Listed): Row {
  const { position_state: state, usd, pnl, token_id, manager_address, is_active: isActive } = position
  const { token0, token1, pool, chain, protocol } = state
  const isBarred = Boolean(position.withdrawable_error)
  return {
    key: `${chain.id} ${manager_address} ${token_id}`,
    kind: 'liquidity',
    what: `${token0.symbol} / ${token1.symbol}`,
    tag: `#${shortenAddress(token_id)}`,
    tokens: [token0, token1],
    where: `${nameProtocol(protocol.code)} ${describePool(pool).replace(/ fee$/, '')}, ${chainName(context.catalog, chain.id)}`,
    value: isBarred ? null : (usd?.total ?? null),
    isPartial: false,
    state: isBarred ? { mood: 'bad', text: 'cannot be withdrawn', urgency: 3 } : describeRange(position),
    rate: describeRate(position),
    profit: pnl?.pnl_usd_value,
    fees: usd?.uncollected_fees ?? undefined,
    watched: position.prices && isActive && !isFullRange(state) ? watchRange(position, served) : undefined,
    name: { chainId: chain.id, subject: { token_id, manager_address } },
    draw: (held) => <PositionCard position={position} served={served} context={context} atSec={atSec} held={held} />,
  }
}

const PICTURE_WIDTH = 100

/** Says whether a position is in its range, and how far the price may move, as its card does. */
function describeRange(position: Position): RowState {
  const { position_state: state, in_range: inRange, is_active: isActive, prices } = position
  if (!isActive) return { mood: 'soft', text: 'closed', urgency: 0, side: 'closed' }
  if (isFullRange(state)) return { mood: 'good', text: 'in, at every price', urgency: 0, side: 'in' }
  const ticks = getTicks({ position, inverse: prices !== undefined && Number(prices.current) < 1 })
  const { down, up } = computePriceRoom(ticks)
  const share = (ratio: number) => formatRatioAsPercent(Math.abs(ratio).toFixed(6), 1)
  const scale = rangeScale({ ...ticks, width: PICTURE_WIDTH })
  const range = { from: scale(ticks.lower), to: scale(ticks.upper), now: scale(ticks.current) }
  if (inRange) return { mood: 'good', text: `in, −${share(down)} / +${share(up)}`, urgency: 0, side: 'in', range }
  const away = ticks.current < ticks.lower ? `+${share(down)}` : `−${share(up)}`
  return { mood: 'warn', text: `out, in at ${away}`, urgency: 2, side: 'out', range }
}

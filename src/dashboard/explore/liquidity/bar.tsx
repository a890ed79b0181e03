import type { PositionList } from '../../lib/shapes.ts'
import { pluralize } from '../../lib/time.ts'
import { Choice } from '../../part/field.tsx'
import { Change, DefinitionList, Usd } from '../../part/figure.tsx'
import type { RequestedPart } from '../requests/answers.ts'
import type { Order } from './order.ts'
import { computeTotals, sortPositions } from './order.ts'

const BY: readonly (readonly [string, string])[] = [
  ['listed', 'as listed'],
  ['value', 'value'],
  ['fees', 'uncollected fees'],
  ['pnl', 'profit and loss'],
]
const SHOW: readonly (readonly [string, string])[] = [
  ['all', 'all'],
  ['in', 'in range'],
  ['out', 'out of range'],
  ['closed', 'closed'],
]
const LEAST: readonly (readonly [string, string])[] = [
  ['0', 'nothing'],
  ['1', 'below $1'],
  ['10', 'below $10'],
  ['100', 'below $100'],
]

interface LiquidityBarProps {
  readonly parts: readonly RequestedPart[]
  readonly order: Order
  readonly onOrder: (order: Order) => void
}

/** Totals over all loaded positions, and controls for their order and filter. */
export function LiquidityBar({ parts, order, onOrder }: LiquidityBarProps) {
  const positions = parts.flatMap(({ answer }) => (answer?.ok ? (answer.body as PositionList).data : []))
  if (positions.length === 0) return null
  const { open, inRange, outOfRange, value, fees, pnl } = computeTotals(positions)
  const hidden = positions.length - sortPositions(positions, order).length
  const set = (name: keyof typeof order) => (chosen: string) => onOrder({ ...order, [name]: chosen } as Order)
  const sum = (Figure: typeof Change, { usd, count }: { usd: string; count: number }) =>
    count === 0 && open > 0 ? (
      <span class="absent">unknown</span>
    ) : (
      <>
        <Figure value={usd} />
        {count < open && (
          <>
            {' '}
            <span class="soft">
              of {count} of {open}
            </span>
          </>
        )}
      </>
    )
  return (
    <div class="card liquidity-bar" role="group" aria-label="All liquidity positions">
      <DefinitionList
        rows={[
          ['Open', pluralize(open, 'position')],
          ['In range', String(inRange)],
          ['Out of range', String(outOfRange)],
        ]}
      />
      <DefinitionList
        rows={[
          ['Value', sum(Usd, value)],
          ['Uncollected fees', sum(Usd, fees)],
          ['Profit and loss', sum(Change, pnl)],
        ]}
      />
      <div class="choices">
        <Choice label="Sort by" value={order.by} options={BY} onValue={set('by')} />
        <Choice label="Show" value={order.show} options={SHOW} onValue={set('show')} />
        <Choice label="Hide" value={order.least} options={LEAST} onValue={set('least')} />
        <p class="soft" role="status">
          {hidden > 0 && `${pluralize(hidden, 'position')} hidden.`}
        </p>
      </div>
    </div>
  )
}

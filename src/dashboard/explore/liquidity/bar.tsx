import type { PositionList } from '../../lib/shapes.ts'
import { pluralize } from '../../lib/time.ts'
import { Change, DefinitionList, Usd } from '../../part/figure.tsx'
import type { RequestedPart } from '../requests/answers.ts'
import { computeTotals } from './totals.ts'

interface LiquidityBarProps {
  readonly parts: readonly RequestedPart[]
}

/** Totals over all loaded positions of liquidity. */
export function LiquidityBar({ parts }: LiquidityBarProps) {
  const positions = parts.flatMap(({ answer }) => (answer?.ok ? (answer.body as PositionList).data : []))
  if (positions.length < 2) return null
  const { open, inRange, outOfRange, value, fees, pnl } = computeTotals(positions)
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
          ['Value of the open ones', sum(Usd, value)],
          ['Uncollected fees', sum(Usd, fees)],
          ['Profit and loss', sum(Change, pnl)],
        ]}
      />
    </div>
  )
}

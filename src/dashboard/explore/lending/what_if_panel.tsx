import { formatDollars, formatRatioAsPercent } from '../../lib/decimal.ts'
import { useState } from '../../lib/view.ts'
import { Slider } from '../../part/field.tsx'
import { DefinitionList } from '../../part/figure.tsx'
import { Gauge } from './gauge.tsx'
import { formatPlain } from './liquidation_price.tsx'
import type { Legs } from './what_if.ts'
import { computeBorrowRoom, NO_STEPS, whatIf } from './what_if.ts'

/** Range of a price slider, percent of change: a tenth of today's price to twice it. */
const FALL_MAX = -90
const RISE_MAX = 100
/** Steps of a debt slider, from no debt to the limit. */
const DEBT_STEPS = 200
/** Debt of a position that has none yet: US dollars. */
const ANY_DEBT = { id: 'dollars', symbol: 'US dollars', usd: 0, weight: 1 }

interface Props {
  readonly legs: Legs | undefined
  readonly target: string
  /** US dollars of debt up to which the protocol lends, at the prices of now. */
  readonly borrowLimit?: string | undefined
  readonly note?: string | undefined
}

/** Disclosure with the sliders, which render once it is opened. */
export function WhatIf(props: Props) {
  const [isOpen, setOpen] = useState(false)
  if (!props.legs?.supplies.some(({ weight }) => weight > 0)) return null
  return (
    <details class="what-if" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>What if: borrow, repay, prices move</summary>
      {isOpen && <Sliders {...props} legs={props.legs} />}
    </details>
  )
}

/** Sliders and the resulting health factor, computed on the page without a request. */
function Sliders({ legs, target, borrowLimit, note }: Props & { legs: Legs }) {
  const [steps, setSteps] = useState(NO_STEPS)
  const after = whatIf(legs, steps)
  const debts = legs.debts.length === 0 ? [ANY_DEBT] : legs.debts
  const owed = legs.debts.reduce((sum, { usd }) => sum + usd, 0)
  const room = borrowLimit === undefined ? computeBorrowRoom(legs) : Math.max(0, Number(borrowLimit) - owed)
  const setPrice = (id: string) => (change: number) =>
    setSteps({ ...steps, prices: { ...steps.prices, [id]: 1 + change / 100 } })
  const setDebt = (id: string) => (usd: number) => setSteps({ ...steps, borrowed: { ...steps.borrowed, [id]: usd } })
  return (
    <>
      <div class="what-if-body">
        <div class="sliders">
          {listTokens(legs).map(({ id, symbol }) => {
            const change = Math.round(((steps.prices[id] ?? 1) - 1) * 100)
            return (
              <Slider
                key={`price ${id}`}
                label={`Price of ${symbol}`}
                min={FALL_MAX}
                max={RISE_MAX}
                step={1}
                value={change}
                text={change === 0 ? 'as now' : `${formatSigned(change)} %`}
                onValue={setPrice(id)}
              />
            )
          })}
          {debts.map(({ id, symbol, usd }) => {
            const borrowed = steps.borrowed[id] ?? 0
            return (
              <Slider
                key={`debt ${id}`}
                label={usd > 0 ? `Repay or borrow ${symbol}` : `Borrow ${symbol}`}
                min={-usd}
                max={room}
                step={Math.max(usd + room, 1e-6) / DEBT_STEPS}
                value={borrowed}
                text={formatDebt(borrowed, usd)}
                onValue={setDebt(id)}
              />
            )
          })}
          <p>
            <button type="button" class="small" onClick={() => setSteps(NO_STEPS)}>
              As it is now
            </button>
          </p>
        </div>
        <div role="status" aria-label="What would be">
          <Gauge healthFactor={formatFactor(after.healthFactor)} target={target} />
          <DefinitionList
            rows={[
              ['Collateral', formatDollars(formatPlain(after.collateral))],
              ['Debt', formatDollars(formatPlain(after.debt))],
              ['Loan to value', formatRatioAsPercent(formatPlain(after.ltv))],
            ]}
          />
        </div>
      </div>
      <p class="soft">
        Computed on this page from the figures above,{' '}
        <a href="formulas#explore.health_factor_after">by the protocol's rule</a>, in floating point. Interest is left
        out. {note}
      </p>
    </>
  )
}

/** Lists the tokens whose prices change the health factor, each once. */
function listTokens({ supplies, debts }: Legs) {
  const weighted = [...supplies.filter(({ weight }) => weight > 0), ...debts]
  return [...new Map(weighted.map((leg) => [leg.id, leg])).values()]
}

function formatSigned(change: number) {
  return change < 0 ? `−${-change}` : `+${change}`
}

/** Formats a change of a debt; `borrowed` and `owed` are US dollars. */
function formatDebt(borrowed: number, owed: number) {
  if (borrowed === 0) return 'as now'
  if (borrowed > 0) return `borrow ${formatDollars(formatPlain(borrowed))}`
  return borrowed <= -owed ? 'repay all' : `repay ${formatDollars(formatPlain(-borrowed))}`
}

/** Formats a health factor as answers do: four digits, truncated, so that it is never overstated. */
function formatFactor(factor: number) {
  if (!Number.isFinite(factor)) return 'MAX'
  // Compensates floating-point error, which could truncate a whole digit.
  return (Math.floor(factor * 1e4 + 1e-6) / 1e4).toFixed(4)
}

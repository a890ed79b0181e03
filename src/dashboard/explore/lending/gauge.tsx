import type { ComponentChildren } from 'preact'
import { formatRatioAsPercent, formatSignificant } from '../../lib/decimal.ts'
import { formatMoment } from '../../lib/time.ts'
import { type Definition, Usd } from '../../part/figure.tsx'
import { computeCushion } from '../liquidity/scale.ts'

const RADIUS = 84
const CENTER = { x: 110, y: 104 }
/** Health factors at which the colour changes. */
const THIN = '1.5'
const CRITICAL = '1.1'

/** Colour of a health factor. */
export function getMood(healthFactor: string): 'bad' | 'warn' | 'good' {
  const cushion = computeCushion(healthFactor)
  return cushion < computeCushion(CRITICAL) ? 'bad' : cushion < computeCushion(THIN) ? 'warn' : 'good'
}

const WORDS: Record<string, string> = { bad: 'close to liquidation', warn: 'thin', good: 'comfortable' }

const REASONS: Record<string, string> = {
  health_factor: 'its health factor',
  deleveraging: 'a call to deleverage it',
  market_deleveraging: 'a reserve above its limit',
  debt_matured: 'the maturity of its debt',
  term_ended: 'the end of its term',
  obligation_order: 'an order of its own',
}

interface Due {
  readonly liquidatable_because: readonly string[]
  readonly due_at: number | null
}

interface DueNoticeProps {
  readonly due: Due
  /** A fall of the health factor is said already. */
  readonly isKnown: boolean
}

/** What can be called due of a position. */
function DueNotice({ due: { liquidatable_because: reasons, due_at: dueAt }, isKnown }: DueNoticeProps) {
  const others = isKnown ? reasons.filter((reason) => reason !== 'health_factor') : reasons
  return (
    <>
      {others.length > 0 && (
        <p>
          <b class="bad">Can be liquidated: {others.map((reason) => REASONS[reason] ?? reason).join(', ')}.</b>
        </p>
      )}
      {dueAt !== null && <p>Debt can be called from {formatMoment(dueAt)}.</p>}
    </>
  )
}

interface GaugeProps {
  readonly healthFactor: string
  readonly target: string
  readonly due?: Due
  readonly bell?: ComponentChildren
}

/**
 * Gauge of a health factor. The needle shows the share of the weighted collateral that may be lost before liquidation.
 */
export function Gauge({ healthFactor, target, due, bell }: GaugeProps) {
  const cushion = computeCushion(healthFactor)
  const isDebtless = !/^\d/.test(healthFactor)
  const state = getMood(healthFactor)
  const label = isDebtless ? 'No debt: nothing can be liquidated' : `Health factor ${healthFactor}, ${WORDS[state]}`
  const arcs = [
    ['bad', 0, computeCushion(CRITICAL)],
    ['warn', computeCushion(CRITICAL), computeCushion(THIN)],
    ['good', computeCushion(THIN), 1],
  ]
  return (
    <figure class="gauge">
      <svg viewBox="0 0 220 128" role="img" aria-label={label}>
        {arcs.map(([name, from, to]) => (
          <path class={`arc ${name}`} d={arc(Number(from), Number(to))} />
        ))}
        <path class={`arc-now ${state}`} d={arc(0, Math.max(cushion, 0.004))} />
        <Tick at={computeCushion(target)} />
        <line
          class="needle"
          x1={point(cushion, RADIUS - 11).x}
          y1={point(cushion, RADIUS - 11).y}
          x2={point(cushion, RADIUS + 8).x}
          y2={point(cushion, RADIUS + 8).y}
        />
        <text class={`gauge-value ${state}`} x={CENTER.x} y={CENTER.y - 12}>
          {isDebtless ? '∞' : formatHealthFactor(healthFactor)}
        </text>
        <text class="gauge-name" x={CENTER.x} y={CENTER.y + 8}>
          health factor
        </text>
      </svg>
      <figcaption>
        {isDebtless ? (
          'No debt: nothing can be liquidated.'
        ) : cushion === 0 ? (
          <b class="bad">
            {isLiquidatable(healthFactor) ? 'Can be liquidated.' : 'At the edge: can be liquidated below 1.'}
          </b>
        ) : (
          <>
            Liquidation if weighted collateral falls by{' '}
            <b class={state}>{formatRatioAsPercent(cushion.toFixed(6), 1)}</b> against the debt.
          </>
        )}
        {due && <DueNotice due={due} isKnown={cushion === 0 && isLiquidatable(healthFactor)} />}
      </figcaption>
      {bell}
    </figure>
  )
}

/** Protocols liquidate below 1. The figure is cut, so that 1.0000 may be a little more. */
export function isLiquidatable(healthFactor: string) {
  return /^\d/.test(healthFactor) && Number(healthFactor) < 1
}

/** Digits of a health factor for which the picture has room. */
const DIGITS_MAX = 11
const COMPACT = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 2 })

/** Formats a health factor for the picture, whose label has all digits. */
export function formatHealthFactor(healthFactor: string) {
  if (healthFactor.length <= DIGITS_MAX) return healthFactor
  const isPower = /^\d{16}/.test(healthFactor)
  return isPower ? formatSignificant(healthFactor) : COMPACT.format(Number(healthFactor))
}

/** Position of the health factor that the safe amounts keep. */
function Tick({ at }: { at: number }) {
  const [inner, outer] = [point(at, RADIUS + 6), point(at, RADIUS + 15)]
  return <line class="target" x1={inner.x} y1={inner.y} x2={outer.x} y2={outer.y} />
}

function point(share: number, radius: number) {
  const angle = Math.PI * (1 - share)
  return { x: CENTER.x + radius * Math.cos(angle), y: CENTER.y - radius * Math.sin(angle) }
}

/** Draws an arc between two shares of the half circle. */
function arc(from: number, to: number) {
  const [start, end] = [point(from, RADIUS), point(to, RADIUS)]
  return `M${start.x} ${start.y}A${RADIUS} ${RADIUS} 0 0 1 ${end.x} ${end.y}`
}

/** Rows of the amounts that keep a health factor. */
export function safeRows(
  target: string,
  { borrow, withdraw }: { borrow: string; withdraw: string },
): readonly Definition[] {
  const name = (verb: string) => (
    <>
      Safe to {verb} <span class="target-key">keeps {target}</span>
    </>
  )
  return [
    [name('borrow'), <Usd value={borrow} />],
    [name('withdraw'), <Usd value={withdraw} />],
  ]
}
